import { forgettable, type Pace } from '@wharf/pace';
import type { VirtualPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import type { Actor } from '../domain/access/permissions.ts';
import type { Mount } from '../domain/mounts/mounts.ts';
import type { Snapshot } from '../domain/snapshot/snapshot.ts';
import type { Entry } from '../driver-contract/storage-driver.ts';
import { type Caller, toWireEntry } from './wire-entry.ts';

/** Entries that are written before other work gets its turn. They take less than a millisecond. */
const ENTRIES_PER_STEP = 100;

/** Entries in one message of the stream: far below gRPC's limit of 4 MiB, also with the longest names. */
export const CHUNK_ENTRIES = 1_000;

/** What the JSON of an entry depends on, except the entry. */
export interface PageFrame {
  readonly snapshot: Snapshot;
  readonly caller: Caller;
  readonly mount: Mount | undefined;
  readonly directory: VirtualPath;
}

/** What the texts of whole folders take at most together, in bytes, and how long after their last use they are kept, in milliseconds. */
const [MAX_WHOLE_BYTES, KEPT_MS] = [16 * 1024 * 1024, 60_000];

/** Texts of entries that take more bytes each, as those of pictures far below do, are kept of whole folders alone: of others nobody counts them. */
const KEPT_ENTRY_BYTES = 1_024;

/** The configuration as it was then has all rules, of which each change makes new ones: that of each folder that is kept would be in memory. */
type KeptFrame = Omit<PageFrame, 'snapshot' | 'mount'> & {
  readonly snapshot: WeakRef<Snapshot>;
  readonly mount: WeakRef<Mount> | undefined;
};

interface Written {
  readonly frame: KeptFrame;
  readonly texts: readonly Uint8Array[];
}

/** Writes entries as clients get them. */
export interface PageWriter {
  /**
   * The texts of objects in UTF-8, separated by commas; each text is one message of the stream. At least one, which may be empty.
   *
   * @param whole stands for the entries, where they are all of a folder
   */
  write(entries: readonly Entry[], frame: PageFrame, pace: Pace, whole?: object): AsyncIterable<Uint8Array>;
  /** What was written of a whole folder, if it is what would be written now. */
  find(whole: object, frame: PageFrame): readonly Uint8Array[] | undefined;
}

/**
 * Keeps the last text of each array of entries, and of whole folders. A folder is listed more often than it changes, and a storage that sees no change
 * answers the same array; what is kept of one behind a network is packed, and stands for its entries by itself. Nothing is kept while signatures carry a
 * time.
 */
export function createPageWriter(): PageWriter {
  const written = new WeakMap<readonly Entry[], Written>();
  const wholes = forgettable(
    new LRUCache<object, Written>({
      maxSize: MAX_WHOLE_BYTES,
      sizeCalculation: ({ texts }) => 1 + bytesOf(texts),
      ...{ ttl: KEPT_MS, updateAgeOnGet: true, ttlAutopurge: true },
    }),
  );
  return {
    find(whole, frame) {
      const known = wholes.get(whole);
      return known && isSame(known.frame, frame) ? known.texts : undefined;
    },
    async *write(entries, frame, pace, whole) {
      const known = written.get(entries);
      if (known && isSame(known.frame, frame)) return yield* known.texts;
      const { snapshot, caller, mount, directory } = frame;
      const writeEntry = (entry: Entry) =>
        JSON.stringify({ ...toWireEntry(snapshot, caller, mount, directory, entry), hash_info: entry.hashes ?? null });
      const texts: Uint8Array[] = [];
      for (const chunk of chunksOf(entries, CHUNK_ENTRIES)) {
        // As bytes, which are no part of the heap: others write theirs between two steps.
        const steps: Uint8Array[] = [];
        for (const step of chunksOf(chunk, ENTRIES_PER_STEP)) {
          steps.push(Buffer.from(`${steps.length > 0 ? ',' : ''}${step.map(writeEntry).join(',')}`));
          await pace.step();
        }
        const text = Buffer.concat(steps);
        texts.push(text);
        yield text;
      }
      if (snapshot.settings.number('link_expiration', 0) > 0) return;
      const made: Written = { frame: { ...frame, snapshot: new WeakRef(snapshot), mount: mount && new WeakRef(mount) }, texts };
      if (whole) wholes.set(whole, made);
      else if (bytesOf(texts) <= KEPT_ENTRY_BYTES * entries.length) written.set(entries, made);
    },
  };
}

function bytesOf(texts: readonly Uint8Array[]): number {
  return texts.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

function isSame(left: KeptFrame, right: PageFrame): boolean {
  return (
    left.snapshot.deref() === right.snapshot &&
    left.mount?.deref() === right.mount &&
    left.directory === right.directory &&
    left.caller.password === right.caller.password &&
    left.caller.siteUrl === right.caller.siteUrl &&
    isSameActor(left.caller.actor, right.caller.actor)
  );
}

function isSameActor(left: Actor, right: Actor): boolean {
  return left.id === right.id && left.role === right.role && left.permission === right.permission && left.basePath === right.basePath;
}

/** At least one chunk, which may be empty. */
export function chunksOf<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  if (items.length <= size) return [items];
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
}
