import fs from 'node:fs';
import path from 'node:path';
import { createPace, type Pace } from '@wharf/pace';
import { openChildFolder } from './confined-root.ts';

// Texts of links need not be UTF-8: here they are strings of bytes (latin1).

/**
 * The text that a link must have in another folder to lead where it leads now: a relative one is another there, so that nobody reaches
 * anything by moving a link that was out of reach before.
 *
 * @param place where the link is. @param toFolder free of links, as `fromFolder`
 */
export function carriedText(place: string | Buffer, fromFolder: string, toFolder: string): Buffer {
  const text = fs.readlinkSync(place, { encoding: 'buffer' }).toString('latin1');
  if (fromFolder === toFolder || path.isAbsolute(text)) return Buffer.from(text, 'latin1');
  const [from, to] = [Buffer.from(fromFolder).toString('latin1'), Buffer.from(toFolder).toString('latin1')];
  return Buffer.from(path.relative(to, targetOf(place) ?? path.resolve(from, text)) || '.', 'latin1');
}

/** Whether a folder has a relative link somewhere in it that leads out of it: moved along, it would lead elsewhere. */
export async function hasLinkOut(folder: string, signal: AbortSignal | undefined): Promise<boolean> {
  return findLinkOut(Buffer.from(folder), '', createPace(signal));
}

/** Whether a link leads out of the folder that is carried, as far as its text tells. @param inner the link's own folder in it, such as `a/b` */
export function leadsOut(place: string | Buffer, inner: string): boolean {
  const text = fs.readlinkSync(place, { encoding: 'buffer' }).toString('latin1');
  if (path.isAbsolute(text)) return false;
  // Behind a name `..` may mean another folder than the one before it, when the name is itself a link.
  if (/[^/.][^/]*\/+(?:\.\/+)*\.\.(?:\/|$)/.test(text)) return true;
  const depth = inner.split('/').filter((segment) => segment !== '').length;
  return text.split('/').filter((segment) => segment === '..').length > depth;
}

async function findLinkOut(place: Buffer, inner: string, pace: Pace): Promise<boolean> {
  const { fd, prefix } = openChildFolder(place);
  try {
    for (const entry of fs.readdirSync(prefix, { encoding: 'buffer', withFileTypes: true })) {
      await pace.step();
      const at = Buffer.concat([prefix, entry.name]);
      if (entry.isSymbolicLink() && leadsOut(at, inner)) return true;
      if (entry.isDirectory() && (await findLinkOut(at, `${inner}/${entry.name.toString('latin1')}`, pace))) return true;
    }
    return false;
  } finally {
    fs.closeSync(fd);
  }
}

function targetOf(place: string | Buffer): string | undefined {
  try {
    return fs.realpathSync.native(place, { encoding: 'buffer' }).toString('latin1');
  } catch {
    return undefined;
  }
}
