import type { VirtualPath } from '@wharf/paths';
import type { Mount } from '../domain/mounts.ts';
import type { Actor } from '../domain/permissions.ts';
import type { Tree } from '../domain/tree.ts';
import type { Entry } from '../driver-contract/storage-driver.ts';
import { type Reader, toWireEntry } from './wire-entry.ts';

/** Entries in one message of the stream: far below gRPC's limit of 4 MiB, also with the longest names. */
const CHUNK_ENTRIES = 1_000;

/** All that the JSON of an entry depends on beside the entry. */
export interface PageFrame {
  readonly tree: Tree;
  readonly reader: Reader;
  readonly mount: Mount | undefined;
  readonly directory: VirtualPath;
}

/** Writes entries as clients get them. */
export interface PageWriter {
  /** The texts of objects, separated by commas; each text is one message of the stream. At least one, which may be empty. */
  write(entries: readonly Entry[], frame: PageFrame): readonly string[];
}

/**
 * Remembers what it wrote last of each array of entries: a folder is listed more often than it changes, and a storage that sees no change
 * answers the same array. Only as long as signatures do not carry a time.
 */
export function createPageWriter(): PageWriter {
  const written = new WeakMap<readonly Entry[], { frame: PageFrame; texts: readonly string[] }>();
  return {
    write(entries, frame) {
      const known = written.get(entries);
      if (known && isSame(known.frame, frame)) return known.texts;
      const { tree, reader, mount, directory } = frame;
      const writeEntry = (entry: Entry) =>
        JSON.stringify({ ...toWireEntry(tree, reader, mount, directory, entry), hash_info: entry.hashes ?? null });
      const texts = chunksOf(entries).map((chunk) => chunk.map(writeEntry).join(','));
      if (tree.settings.number('link_expiration', 0) <= 0) written.set(entries, { frame, texts });
      return texts;
    },
  };
}

function isSame(left: PageFrame, right: PageFrame): boolean {
  return (
    left.tree === right.tree &&
    left.mount === right.mount &&
    left.directory === right.directory &&
    left.reader.password === right.reader.password &&
    left.reader.siteUrl === right.reader.siteUrl &&
    isSameActor(left.reader.actor, right.reader.actor)
  );
}

function isSameActor(left: Actor, right: Actor): boolean {
  return left.id === right.id && left.role === right.role && left.permission === right.permission && left.basePath === right.basePath;
}

/** At least one chunk, which may be empty. */
export function chunksOf(entries: readonly Entry[]): (readonly Entry[])[] {
  if (entries.length <= CHUNK_ENTRIES) return [entries];
  return Array.from({ length: Math.ceil(entries.length / CHUNK_ENTRIES) }, (_, index) =>
    entries.slice(index * CHUNK_ENTRIES, (index + 1) * CHUNK_ENTRIES),
  );
}
