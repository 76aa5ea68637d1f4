import type { Entry as WireEntry } from '@wharf/proto/fs';
import { ENTRY_TYPE, typeOfName } from '../domain/entry-type.ts';
import { signOf } from '../domain/links.ts';
import type { Mount } from '../domain/mounts.ts';
import type { Tree } from '../domain/tree.ts';
import { childPath, type VirtualPath } from '../driver-contract/paths.ts';
import type { Entry } from '../driver-contract/storage-driver.ts';

/** The JSON of an entry in a listing. @param mount undefined for folders that mounts make. */
export function toWireEntry(tree: Tree, mount: Mount | undefined, directory: VirtualPath, entry: Entry): WireEntry {
  const { name, isDirectory } = entry;
  const modified = toWireTime(entry.modifiedAt);
  return {
    name,
    size: entry.sizeBytes,
    is_dir: isDirectory,
    modified,
    sign: isDirectory || !mount ? '' : signOf(tree, mount, childPath(directory, name)),
    thumb: '',
    type: isDirectory ? ENTRY_TYPE.folder : typeOfName(name, tree.settings),
    created: entry.createdAt ? toWireTime(entry.createdAt) : modified,
    hashinfo: entry.hashes ? JSON.stringify(entry.hashes) : 'null',
  };
}

const EARLIEST_MS = Date.parse('0001-01-01T00:00:00Z');
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** RFC 3339 in UTC. A time that has no such form (years of five digits, an invalid date) becomes the nearest that has one. */
export function toWireTime(time: Date): string {
  const ms = time.getTime();
  return new Date(Number.isNaN(ms) ? 0 : Math.min(LATEST_MS, Math.max(EARLIEST_MS, ms))).toISOString();
}
