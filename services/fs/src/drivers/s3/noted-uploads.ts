import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { currentOwner, newOwnedName, ownerOf } from '@wharf/owned-names';
import { createGate, parseJson } from '@wharf/pace';
import type { CallOptions } from '../../driver-contract/storage-driver.ts';
import { isAbandoned } from '../../driver-contract/temp-names.ts';
import { type NewObject, PAGE_KEYS, payloadOf, type S3Client, type UploadedPart } from './client.ts';
import { UPLOADS_FOLDER } from './keys.ts';
import type { Taken } from './store-clock.ts';

/** A store does not tell whose an upload in parts is, so each of ours has a note beside it, which names its process. */
export interface NotedUploads {
  begin(key: string, object: NewObject, options: CallOptions): Promise<NotedUpload>;
  /** Ends what is under way no more: in this process, and of those that have ended; of other hosts what is two days old. Nothing without a note of ours is touched. */
  sweep(options: CallOptions): Promise<void>;
  /** The keys of all that are under way, whoever's they are. Undefined: there are too many to tell. */
  keysUnderWay(options: CallOptions): Promise<string[] | undefined>;
}

export interface NotedUpload {
  readonly id: string;
  complete(parts: readonly UploadedPart[], isNew: boolean, options: CallOptions): Promise<Taken>;
  /** Takes it back, whatever the caller's signal says. Never rejects: what the store does not hear is tried again until the storage is closed. */
  abort(): Promise<void>;
}

const OTHERS_MAX_AGE_MS = 48 * 60 * 60 * 1000;
/** A store could show notes for ever; what is left is for the next opening. */
const MAX_SWEPT_PAGES = 20;
/** For the calls that clean up: their caller has gone. */
const CLEAN_UP_MS = 20_000;
/** Before what the store did not hear is said again, in milliseconds; the last pause is repeated. */
const PAUSES_MS: readonly number[] = [500, 2_000, 10_000, 60_000];
/** So many notes are read at once. */
const PARALLEL_NOTES = 8;
const NOTE_TYPE = 'application/json';
/** The names of the notes of what is under way in this process: a storage may be opened anew meanwhile. */
const underWay = new Set<string>();

/** @param closing aborted when the storage is closed */
export function createNotedUploads(client: S3Client, keyPrefix: string, closing: AbortSignal): NotedUploads {
  const folder = `${keyPrefix}${UPLOADS_FOLDER}/`;
  const self = currentOwner();
  const cleanUp = async (noteKey: string, key: string, id: string) => {
    const options = { signal: AbortSignal.timeout(CLEAN_UP_MS) };
    await client.abortUpload(key, id, options);
    await client.delete(noteKey, options);
  };
  const cleanUpLater = async (noteKey: string, key: string, id: string) => {
    for (let failures = 0; ; failures += 1) {
      await wait(PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)], undefined, { signal: closing, ref: false });
      const isDone = await cleanUp(noteKey, key, id).then(
        () => true,
        () => false,
      );
      if (isDone) return;
    }
  };
  return {
    async begin(key, object, options) {
      const id = await client.createUpload(key, object, options);
      const name = newOwnedName(self);
      const noteKey = folder + name;
      const abort = async () => {
        try {
          await cleanUp(noteKey, key, id);
        } catch {
          // What is left when the storage is closed is swept by its next opening.
          cleanUpLater(noteKey, key, id).catch(() => undefined);
        } finally {
          underWay.delete(name);
        }
      };
      underWay.add(name);
      try {
        await client.put(noteKey, payloadOf(JSON.stringify({ key, id }), false), { contentType: NOTE_TYPE }, false, options);
      } catch (error) {
        await abort();
        throw error;
      }
      return {
        id,
        async complete(parts, isNew, given) {
          const taken = await client.completeUpload(key, id, parts, isNew, given);
          underWay.delete(name);
          // The file is there: a note that stays leads to an upload that is gone.
          await client.delete(noteKey, { signal: AbortSignal.timeout(CLEAN_UP_MS) }).catch(() => undefined);
          return taken;
        },
        abort,
      };
    },
    async keysUnderWay(options) {
      const { objects, isLast } = await client.firstPage({ prefix: folder, maxKeys: PAGE_KEYS, signal: options.signal });
      if (!isLast) return undefined;
      const gate = createGate(PARALLEL_NOTES);
      const notes = await Promise.all(objects.map((object) => gate.run(() => readNote(client, object.key, options))));
      return notes.flatMap((note) => (note ? [note.key] : []));
    },
    async sweep(options) {
      let pages = 0;
      for await (const { objects } of client.pages({ prefix: folder, ...options })) {
        pages += 1;
        if (pages > MAX_SWEPT_PAGES) return;
        for (const { key: noteKey, modifiedAt } of objects) {
          const name = noteKey.slice(folder.length);
          const isLeft = ownerOf(name, self) === 'self' && !underWay.has(name);
          if (!isLeft && !isAbandoned(name, modifiedAt.getTime(), self, Date.now(), OTHERS_MAX_AGE_MS)) continue;
          const note = await readNote(client, noteKey, options);
          if (note?.key.startsWith(keyPrefix)) await cleanUp(noteKey, note.key, note.id);
        }
      }
    },
  };
}

async function readNote(client: S3Client, noteKey: string, options: CallOptions): Promise<{ key: string; id: string } | undefined> {
  try {
    const note: unknown = parseJson(await client.readText(noteKey, options));
    if (typeof note !== 'object' || note === null) return undefined;
    const [key, id]: unknown[] = [Reflect.get(note, 'key'), Reflect.get(note, 'id')];
    return typeof key === 'string' && typeof id === 'string' ? { key, id } : undefined;
  } catch (error) {
    // Another replica swept it.
    if (AppError.is(error, 'ENTRY_NOT_FOUND')) return undefined;
    throw error;
  }
}
