import { AppError } from '@wharf/errors';
import { currentOwner, newOwnedName, OWNED_NAME, ownerOf } from '@wharf/owned-names';
import { parseJson } from '@wharf/pace';
import type { CallOptions } from '../../driver-contract/storage-driver.ts';
import { type NewObject, payloadOf, type S3Client, type UploadedPart } from './client.ts';
import { UPLOADS_FOLDER } from './keys.ts';

/** A store does not tell whose an upload in parts is, so each of ours has a note beside it, which names its process. */
export interface NotedUploads {
  begin(key: string, object: NewObject, options: CallOptions): Promise<NotedUpload>;
  /** Ends what processes left that have ended, of other hosts what is two days old. Nothing without a note of ours is touched. */
  sweep(options: CallOptions): Promise<void>;
}

export interface NotedUpload {
  readonly id: string;
  complete(parts: readonly UploadedPart[], isNew: boolean, options: CallOptions): Promise<void>;
  /** Takes it back, whatever the caller's signal says. */
  abort(): Promise<void>;
}

const OTHERS_MAX_AGE_MS = 48 * 60 * 60 * 1000;
/** A store could show notes for ever; what is left is for the next opening. */
const MAX_SWEPT_PAGES = 20;
/** For the calls that clean up: their caller has gone. */
const CLEAN_UP_MS = 20_000;
const NOTE_TYPE = 'application/json';

export function createNotedUploads(client: S3Client, keyPrefix: string): NotedUploads {
  const folder = `${keyPrefix}${UPLOADS_FOLDER}/`;
  const self = currentOwner();
  const cleanUp = async (noteKey: string, key: string, id: string) => {
    const options = { signal: AbortSignal.timeout(CLEAN_UP_MS) };
    await client.abortUpload(key, id, options);
    await client.delete(noteKey, options);
  };
  return {
    async begin(key, object, options) {
      const id = await client.createUpload(key, object, options);
      const noteKey = folder + newOwnedName(self);
      const abort = () => cleanUp(noteKey, key, id);
      try {
        await client.put(noteKey, payloadOf(JSON.stringify({ key, id }), false), { contentType: NOTE_TYPE }, false, options);
      } catch (error) {
        await abort().catch(() => undefined);
        throw error;
      }
      return {
        id,
        async complete(parts, isNew, given) {
          await client.completeUpload(key, id, parts, isNew, given);
          // The file is there: a note that stays leads to an upload that is gone.
          await client.delete(noteKey, { signal: AbortSignal.timeout(CLEAN_UP_MS) }).catch(() => undefined);
        },
        abort,
      };
    },
    async sweep(options) {
      let pages = 0;
      for await (const { objects } of client.pages({ prefix: folder, ...options })) {
        pages += 1;
        if (pages > MAX_SWEPT_PAGES) return;
        for (const { key: noteKey, modifiedAt } of objects) {
          const name = noteKey.slice(folder.length);
          const owner = OWNED_NAME.test(name) ? ownerOf(name, self) : undefined;
          if (owner !== 'gone' && !(owner === 'elsewhere' && Date.now() - modifiedAt.getTime() > OTHERS_MAX_AGE_MS)) continue;
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
