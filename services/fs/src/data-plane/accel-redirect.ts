import fs from 'node:fs';
import path from 'node:path';

/** A folder of this machine, and under which address a proxy serves it to itself alone. */
export interface AccelFolder {
  readonly folder: string;
  readonly location: string;
}

/** Answers the address by which the proxy finds a file; undefined for a file of no such folder. @param hostPath absolute, free of links */
export type AccelAddress = (hostPath: string) => string | undefined;

/** Reads `<folder>=<location>`. Undefined for another text: the folder must be absolute, the location begin with `/`. */
export function parseAccelFolder(text: string): AccelFolder | undefined {
  const mark = text.lastIndexOf('=');
  const [folder, location] = [text.slice(0, mark), text.slice(mark + 1)];
  if (mark === -1 || !path.isAbsolute(folder) || !/^\/[\w\-./]*$/.test(location)) return undefined;
  return { folder, location: withSlash(location) };
}

/** The innermost folder counts. A folder that is a link stands for where it leads. @returns undefined where there is none: no file is looked for then */
export function createAccelAddress(folders: readonly AccelFolder[]): AccelAddress | undefined {
  if (folders.length === 0) return undefined;
  const known = folders
    .map(({ folder, location }) => ({ prefix: withSlash(realPath(folder)), location }))
    .sort((left, right) => right.prefix.length - left.prefix.length);
  return (hostPath) => {
    const found = known.find(({ prefix }) => hostPath.startsWith(prefix));
    if (found === undefined) return undefined;
    return found.location + hostPath.slice(found.prefix.length).split('/').map(encodeURIComponent).join('/');
  };
}

function withSlash(place: string): string {
  return place.endsWith('/') ? place : `${place}/`;
}

function realPath(folder: string): string {
  try {
    return fs.realpathSync.native(folder);
  } catch {
    // Not there yet.
    return path.resolve(folder);
  }
}
