import type { Pace } from '@wharf/pace';
import type { VirtualPath } from '@wharf/paths';
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

/** Writes entries as clients get them. */
export interface PageWriter {
  /** The texts of objects in UTF-8, separated by commas; each text is one message of the stream. At least one, which may be empty. */
  write(entries: readonly Entry[], frame: PageFrame, pace: Pace): AsyncIterable<Uint8Array>;
}

/**
 * Keeps the last text of each array of entries. A folder is listed more often than it changes, and a storage that sees no change answers
 * the same array. Nothing is kept while signatures carry a time.
 */
export function createPageWriter(): PageWriter {
  const written = new WeakMap<readonly Entry[], { frame: PageFrame; texts: readonly Uint8Array[] }>();
  return {
    async *write(entries, frame, pace) {
      const known = written.get(entries);
      if (known && isSame(known.frame, frame)) return yield* known.texts;
      const { snapshot, caller, mount, directory } = frame;
      const writeEntry = (entry: Entry) =>
        JSON.stringify({ ...toWireEntry(snapshot, caller, mount, directory, entry), hash_info: entry.hashes ?? null });
      const texts: Uint8Array[] = [];
      for (const chunk of chunksOf(entries, CHUNK_ENTRIES)) {
        const steps: string[] = [];
        for (const step of chunksOf(chunk, ENTRIES_PER_STEP)) {
          steps.push(step.map(writeEntry).join(','));
          await pace.step();
        }
        const text = Buffer.from(steps.join(','));
        texts.push(text);
        yield text;
      }
      if (snapshot.settings.number('link_expiration', 0) <= 0) written.set(entries, { frame, texts });
    },
  };
}

function isSame(left: PageFrame, right: PageFrame): boolean {
  return (
    left.snapshot === right.snapshot &&
    left.mount === right.mount &&
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
