import { AppError } from '@wharf/errors';
import { parseJson } from '@wharf/pace';
import { z } from 'zod';
import type { ListingRoom } from '../../driver-contract/listing-room.ts';
import { takePartBuffer } from '../../driver-contract/part-buffers.ts';
import type { CallOptions, RangeOptions } from '../../driver-contract/storage-driver.ts';
import { badAnswer, storageError } from '../../driver-contract/storage-error.ts';
import {
  isGoneUpload,
  type ListedObject,
  MAX_PARTS,
  type OpenUpload,
  payloadOf,
  type S3Client,
  type StoredPart,
  type UploadedPart,
} from './client.ts';
import { UPLOADS_FOLDER } from './keys.ts';
import { type Part, type PartHashes, partBytesOf, payloadOfPart, tooLarge, waiting } from './part-source.ts';
import type { ObjectHead } from './store-clock.ts';

const MIB = 1024 * 1024;
/** Of a file of unknown size: up to 156 GiB. */
const UNKNOWN_PART_BYTES = 16 * MIB;
/** For the calls that clean up: their caller has gone. */
const CLEAN_UP_MS = 20_000;
/** What a piece of a draft takes beside the texts of its object, in bytes, while all of them are looked at. */
const PIECE_BYTES = 160;
const NOTE_TYPE = 'application/json';
const PIECE_TYPE = 'application/octet-stream';

const noteShape = z.object({
  uploadId: z.string().min(1).max(4096),
  partBytes: z
    .number()
    .int()
    .min(MIB)
    .max(32 * MIB),
  /** 0: not known. */
  sizeBytes: z.number().int().min(0),
  /** The key that it is being given, since a first attempt. */
  publishing: z.string().optional(),
  /** The version of what had that key before it. */
  replaced: z.string().optional(),
});
type Note = z.output<typeof noteShape>;

/** Bytes that wait for the rest of their part, as an object of their own. */
interface Piece {
  readonly object: ListedObject;
  readonly start: number;
  readonly end: number;
}

type Found = { readonly parts: readonly StoredPart[]; readonly pieces: readonly Piece[] } | { readonly whole: ObjectHead };

/** What drafts of a storage work with. */
export interface DraftStore {
  readonly client: S3Client;
  readonly keyPrefix: string;
  readonly hashes: PartHashes;
  readonly room: ListingRoom;
}

/**
 * A draft as the bucket has it: everything under `<root>/.wharf-uploads/draft-<id>/`, so that it is ours whatever else is in the bucket.
 *
 * | key | is |
 * |---|---|
 * | `whole` | the upload in parts, and the object that it becomes; whoever publishes has the store copy it |
 * | `piece-<offset>` | a range that was no whole part when it came |
 * | `note` | the id of the upload and the size of its parts, written once the upload is there |
 */
export class StoredDraft {
  readonly id: string;
  readonly #store: DraftStore;
  #note: Note;
  #joining: Promise<unknown> = Promise.resolve();

  private constructor(store: DraftStore, id: string, note: Note) {
    this.#store = store;
    this.id = id;
    this.#note = note;
  }

  /** @param file.isNew whether the store makes objects in one step. @throws AppError ENTRY_EXISTS | QUOTA_EXCEEDED */
  static async make(
    store: DraftStore,
    id: string,
    file: { readonly sizeBytes: number; readonly contentType: string; readonly isNew: boolean },
    options: CallOptions,
  ): Promise<StoredDraft> {
    const { client } = store;
    const { sizeBytes, contentType } = file;
    const keys = keysOf(store, id);
    const partBytes = sizeBytes === 0 ? UNKNOWN_PART_BYTES : partBytesOf(sizeBytes);
    if (await client.findHead(keys.note, options)) throw storageError('ENTRY_EXISTS');
    const uploadId = await client.createUpload(keys.whole, { contentType, draftId: id, hasClass: false }, options);
    const draft = new StoredDraft(store, id, { uploadId, partBytes, sizeBytes });
    try {
      await draft.#writeNote(draft.#note, file.isNew, options);
    } catch (error) {
      await client.abortUpload(keys.whole, uploadId, cleaningUp()).catch(() => undefined);
      throw AppError.is(error, 'STALE_VERSION') ? storageError('ENTRY_EXISTS', error) : error;
    }
    return draft;
  }

  /** Also takes away what is left of one that was not made to the end, or is published. @throws AppError ENTRY_NOT_FOUND */
  static async find(store: DraftStore, id: string, options: CallOptions): Promise<StoredDraft> {
    const { client } = store;
    const note = await readNote(store, id, options);
    if (note === undefined) {
      const { whole } = keysOf(store, id);
      for (const upload of await client.listUploads(whole, options)) {
        if (upload.key === whole) await client.abortUpload(whole, upload.id, options);
      }
      throw storageError('ENTRY_NOT_FOUND');
    }
    const draft = new StoredDraft(store, id, note);
    const published = note.publishing === undefined ? undefined : await client.findHead(note.publishing, options);
    if (published?.draftId !== id) return draft;
    await draft.remove();
    throw storageError('ENTRY_NOT_FOUND');
  }

  get partBytes(): number {
    return this.#note.partBytes;
  }

  /** Where the file is once it is put together. */
  get wholeKey(): string {
    return keysOf(this.#store, this.id).whole;
  }

  /** Of the file, from an offset on; undefined where its size is not known. */
  bytesFrom(offsetBytes: number): number | undefined {
    return this.#note.sizeBytes === 0 ? undefined : Math.max(0, this.#note.sizeBytes - offsetBytes);
  }

  /** Stores bytes that are within one part, and gives their memory back. @throws AppError INVALID_ARGUMENT | QUOTA_EXCEEDED | FAILED_PRECONDITION */
  async store(start: number, part: Part, options: RangeOptions): Promise<void> {
    const { partBytes, sizeBytes } = this.#note;
    const number = Math.floor(start / partBytes) + 1;
    const end = start + part.bytes.byteLength;
    const isWhole = start % partBytes === 0 && (end - start === partBytes || end === sizeBytes);
    try {
      if (sizeBytes !== 0 && end > sizeBytes) throw storageError('INVALID_ARGUMENT');
      if (number > MAX_PARTS) throw tooLarge();
      if (isWhole) return void (await this.#uploadPart(number, part, options));
      await this.#store.client.put(this.#pieceKey(start), part, { contentType: PIECE_TYPE, hasClass: false }, {}, options);
    } finally {
      part.release();
    }
    // One after the other: of the last pieces of a part only one may find all of them.
    const joined = this.#joining.then(() => this.#join(number, start, options));
    this.#joining = joined.catch(() => undefined);
    await joined;
  }

  async sizeBytes(options: CallOptions): Promise<number> {
    return endOf(await this.#look(options), this.partBytes);
  }

  /** Puts the file together; nothing is written to it after that. @throws AppError CONTENT_CORRUPT: bytes in the middle are missing */
  async seal(options: RangeOptions): Promise<ObjectHead> {
    const found = await this.#look(options);
    if ('whole' in found) return found.whole;
    const { client } = this.#store;
    const { partBytes } = this;
    const end = endOf(found, partBytes);
    const known = new Map(found.parts.map((part) => [part.number, part]));
    const parts: UploadedPart[] = [];
    for (let start = 0, number = 1; start < Math.max(1, end); start += partBytes, number += 1) {
      const stop = Math.min(end, start + partBytes);
      const part = known.get(number);
      const uploaded =
        part?.sizeBytes === stop - start ? part : await this.#uploadPieces(number, { start, end: stop }, found.pieces, options);
      if (uploaded === undefined) throw new AppError('CONTENT_CORRUPT', 'bytes in the middle of the file are missing');
      parts.push(uploaded);
      options.onProgress?.();
    }
    const taken = await client.completeUpload(this.wholeKey, this.#note.uploadId, parts, {}, options);
    return client.headOfTaken(this.wholeKey, taken, options);
  }

  /**
   * Notes the key that it is being given: whoever finds it again looks there whether it has happened.
   *
   * @param there what has the key now. @throws AppError ENTRY_EXISTS: it has come since an earlier attempt, which may have ended well: what was stored after that is
   * not replaced
   */
  async notePublishing(key: string, there: ObjectHead | undefined, options: CallOptions): Promise<void> {
    const { publishing, replaced } = this.#note;
    if (publishing !== key) return this.#writeNote({ ...this.#note, publishing: key, replaced: there?.version }, false, options);
    if (there && there.version !== replaced)
      throw new AppError('ENTRY_EXISTS', 'another file has got the name since this one was first to have it');
  }

  /** Nothing there is success. */
  async remove(): Promise<void> {
    const { client } = this.#store;
    const options = cleaningUp();
    await client.abortUpload(this.wholeKey, this.#note.uploadId, options);
    await removeKeys(client, keysOf(this.#store, this.id).all, options);
  }

  #pieceKey(start: number): string {
    return this.#pieces + offsetText(start);
  }

  get #pieces(): string {
    return keysOf(this.#store, this.id).pieces;
  }

  async #writeNote(note: Note, isNew: boolean, options: CallOptions): Promise<void> {
    const { client } = this.#store;
    const payload = payloadOf(JSON.stringify(note), false);
    await client.put(keysOf(this.#store, this.id).note, payload, { contentType: NOTE_TYPE, hasClass: false }, { isNew }, options);
    this.#note = note;
  }

  async #uploadPart(number: number, payload: Pick<Part, 'bytes' | 'sha256' | 'md5'>, options: RangeOptions): Promise<UploadedPart> {
    try {
      return await this.#store.client.uploadPart(this.wholeKey, this.#note.uploadId, number, payload, options);
    } catch (error) {
      throw isGoneUpload(error) ? takesNoMore(error) : error;
    }
  }

  async #look(options: CallOptions): Promise<Found> {
    const { client } = this.#store;
    try {
      const [parts, pieces] = await Promise.all([
        client.listParts(this.wholeKey, this.#note.uploadId, options),
        this.#listPieces('', options),
      ]);
      return { parts, pieces };
    } catch (error) {
      if (!AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
    }
    return { whole: await client.head(this.wholeKey, options) };
  }

  /** @param begin how the texts of their offsets begin */
  async #listPieces(begin: string, options: CallOptions): Promise<Piece[]> {
    const pieces: Piece[] = [];
    // A store could name them for ever.
    const share = this.#store.room.enter(() => badAnswer('more pieces than a file has'));
    try {
      for await (const { objects } of this.#store.client.pages({ prefix: this.#pieces + begin, ...options })) {
        for (const object of objects) {
          const start = Number(object.key.slice(this.#pieces.length));
          // Also for what is none: that may have no end either.
          share.take(PIECE_BYTES + object.version.length);
          if (Number.isSafeInteger(start) && object.key === this.#pieceKey(start))
            pieces.push({ object, start, end: start + object.sizeBytes });
        }
      }
      return pieces;
    } finally {
      share.leave();
    }
  }

  /** Makes a part of pieces where they are one. @param newest where the last one begins, which came too late where the file is put together or gone */
  async #join(number: number, newest: number, options: RangeOptions): Promise<void> {
    const { client } = this.#store;
    const start = (number - 1) * this.partBytes;
    const range = { start, end: start + Math.min(this.partBytes, this.bytesFrom(start) ?? this.partBytes) };
    // Bodies may be tiny, and many: what is asked for each does not grow with the file.
    const [isOpen, pieces] = await Promise.all([
      client.hasUpload(this.wholeKey, this.#note.uploadId, options),
      this.#listPieces(sameBeginning(offsetText(range.start), offsetText(range.end - 1)), options),
    ]);
    if (!isOpen) {
      await client.delete(this.#pieceKey(newest), options);
      throw (await client.findHead(this.wholeKey, options)) ? takesNoMore() : storageError('ENTRY_NOT_FOUND');
    }
    try {
      await this.#uploadPieces(number, range, pieces, options);
    } catch (error) {
      // Another replica was quicker.
      if (!AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
    }
  }

  /** The pieces stay until the end: some of them may be written anew. Undefined where bytes of the range are missing. */
  async #uploadPieces(
    number: number,
    { start, end }: { start: number; end: number },
    all: readonly Piece[],
    options: RangeOptions,
  ): Promise<UploadedPart | undefined> {
    const pieces = all.filter((piece) => piece.start >= start && piece.end <= end).sort((one, other) => one.start - other.start);
    if (!isCovered(pieces, start, end)) return undefined;
    const { client, hashes } = this.#store;
    const buffer = await waiting(takePartBuffer(Math.max(1, end - start), options), options.onProgress);
    let uploaded: UploadedPart;
    try {
      const bytes = buffer.memory.subarray(0, end - start);
      for (const piece of pieces.toSorted(byAge))
        await client.readInto(piece.object, bytes.subarray(piece.start - start, piece.end - start), options);
      uploaded = await this.#uploadPart(number, payloadOfPart(bytes, hashes), options);
    } finally {
      buffer.release();
    }
    return uploaded;
  }
}

/** A draft that nobody wrote to for so long belongs to nobody. */
const MAX_AGE_MS = 48 * 60 * 60 * 1000;
/** A store could show drafts for ever; what is left is for the next opening. */
const MAX_SWEPT_DRAFTS = 10_000;
const MAX_SWEPT_PAGES = 1_000;
/** No draft has so many pieces; a store could show them for ever, and nobody waits for its sweep. */
const MAX_DRAFT_PAGES = 200;
const DRAFT_FOLDER = /^draft-([0-9a-f]{32})\//;

/** Takes away drafts that nobody wrote to for two days. Behind the prefix of their keys there is nothing that is not ours. */
export async function sweepDrafts(store: DraftStore, options: CallOptions, nowMs = Date.now()): Promise<void> {
  const { client } = store;
  const prefix = `${store.keyPrefix}${UPLOADS_FOLDER}/`;
  const touchedAt = new Map<string, number>();
  const note = (key: string, at: Date) => {
    const id = DRAFT_FOLDER.exec(key.slice(prefix.length))?.[1];
    if (id !== undefined) touchedAt.set(id, Math.max(touchedAt.get(id) ?? 0, at.getTime()));
  };
  let pages = 0;
  for await (const { objects } of client.pages({ prefix: `${prefix}draft-`, ...options })) {
    for (const { key, modifiedAt } of objects) note(key, modifiedAt);
    pages += 1;
    if (pages < MAX_SWEPT_PAGES && touchedAt.size < MAX_SWEPT_DRAFTS) continue;
    // Of the last one there may be more.
    touchedAt.delete([...touchedAt.keys()].at(-1) ?? '');
    break;
  }
  const uploads = await client.listUploads(prefix, options);
  for (const { key, startedAt } of uploads) note(key, startedAt);
  const uploadsOf = Map.groupBy(uploads, ({ key }) => key);
  for (const [id, at] of touchedAt) {
    const { all, whole } = keysOf(store, id);
    const own = uploadsOf.get(whole) ?? [];
    let lastAt = at;
    // One after the other: a store could name many of one key, each with thousands of parts.
    for (const upload of own)
      for (const { modifiedAt } of await partsOf(client, upload, options)) lastAt = Math.max(lastAt, modifiedAt.getTime());
    if (nowMs - lastAt < MAX_AGE_MS) continue;
    for (const upload of own) await client.abortUpload(whole, upload.id, options);
    await removeKeys(client, all, options);
  }
}

async function partsOf(client: S3Client, { key, id }: OpenUpload, options: CallOptions): Promise<StoredPart[]> {
  try {
    return await client.listParts(key, id, options);
  } catch (error) {
    if (AppError.is(error, 'ENTRY_NOT_FOUND')) return [];
    throw error;
  }
}

async function removeKeys(client: S3Client, prefix: string, options: CallOptions): Promise<void> {
  let pages = 0;
  for await (const { objects } of client.pages({ prefix, ...options })) {
    pages += 1;
    if (pages > MAX_DRAFT_PAGES) return;
    await client.deleteMany(
      objects.map(({ key }) => key),
      options,
    );
  }
}

function keysOf({ keyPrefix }: DraftStore, id: string) {
  const all = `${keyPrefix}${UPLOADS_FOLDER}/draft-${id}/`;
  return { all, note: `${all}note`, whole: `${all}whole`, pieces: `${all}piece-` };
}

async function readNote({ client, ...store }: DraftStore, id: string, options: CallOptions): Promise<Note | undefined> {
  let text: string;
  try {
    text = await client.readText(keysOf({ client, ...store }, id).note, options);
  } catch (error) {
    if (AppError.is(error, 'ENTRY_NOT_FOUND')) return undefined;
    throw error;
  }
  const note = noteShape.safeParse(parseJson(text));
  if (!note.success) throw badAnswer('a note of a draft that is none', note.error);
  return note.data;
}

function endOf(found: Found, partBytes: number): number {
  if ('whole' in found) return found.whole.sizeBytes;
  const ends = [...found.parts.map((part) => (part.number - 1) * partBytes + part.sizeBytes), ...found.pieces.map(({ end }) => end)];
  return ends.reduce((most, end) => Math.max(most, end), 0);
}

/** Where two pieces have the same bytes, those of the newer one count. */
function byAge(one: Piece, other: Piece): number {
  return one.object.modifiedAt.getTime() - other.object.modifiedAt.getTime() || one.start - other.start;
}

/** @param pieces by their start */
function isCovered(pieces: readonly Piece[], start: number, end: number): boolean {
  let reached = start;
  for (const piece of pieces) if (piece.start <= reached) reached = Math.max(reached, piece.end);
  return reached >= end;
}

function sameBeginning(one: string, other: string): string {
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  return one.slice(0, same);
}

/** In the order of numbers also where a store sorts by text. */
function offsetText(offset: number): string {
  return String(offset).padStart(16, '0');
}

function takesNoMore(cause?: unknown): AppError {
  return new AppError('FAILED_PRECONDITION', 'the file takes no more bytes', { cause });
}

function cleaningUp(): CallOptions {
  return { signal: AbortSignal.timeout(CLEAN_UP_MS) };
}
