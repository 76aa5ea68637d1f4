import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { currentOwner, newOwnedName, OWNED_NAME, ownerOf } from '@wharf/owned-names';
import { createGate, createPace, parseJson } from '@wharf/pace';
import type { ListingRoom } from '../../driver-contract/listing-room.ts';
import type { CallOptions } from '../../driver-contract/storage-driver.ts';
import { badAnswer, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { isAbandoned } from '../../driver-contract/temp-names.ts';
import {
  type Condition,
  type ListedPage,
  type NewObject,
  type OpenUpload,
  PAGE_KEYS,
  payloadOf,
  type S3Client,
  type UploadedPart,
} from './client.ts';
import { MAX_KEY_BYTES, UPLOADS_FOLDER } from './keys.ts';
import { CLOCK_STEPS_MS, type Taken } from './store-clock.ts';

/** A store does not tell whose an upload in parts is, so each of ours has a note beside it, which names its process: from before it begins, and with its id as soon as that is told. */
export interface NotedUploads {
  begin(key: string, object: NewObject, options: CallOptions): Promise<NotedUpload>;
  /** Ends what is under way no more: in this process, and of those that have ended; of other hosts what is two days old. Nothing without a note of ours is touched. */
  sweep(options: CallOptions): Promise<void>;
  /** The keys of all that are under way, whoever's they are. Undefined: there are too many to tell. */
  keysUnderWay(options: CallOptions): Promise<string[] | undefined>;
}

export interface NotedUpload {
  readonly id: string;
  complete(parts: readonly UploadedPart[], condition: Condition, options: CallOptions): Promise<Taken>;
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
/** Of these pauses so many pass before what broke off is taken for gone. */
const UNSURE_LOOKS = 2;
/** Those that are tried again; a store could show notes for ever. */
const MAX_WAITING = 1_000;
/** So late a store may still begin an upload that it was asked for. */
const LATE_BEGIN_MS = 120_000;
/** So many notes are read at once. */
const PARALLEL_NOTES = 8;
/** What a note takes beside its key and its id while those of a bucket are looked at, in bytes. */
const NOTE_BYTES = 256;
/** Of the roots that may lie above a key: roots lie high. */
const MAX_ROOTS_ABOVE = 20;
/** No id of an upload is longer. */
const MAX_ID_LENGTH = 4096;
const NOTE_TYPE = 'application/json';
/** The names of the notes of what is under way in this process: a storage may be opened anew meanwhile. */
const underWay = new Set<string>();

/** The id of an upload that was not asked for. */
const NONE = '';

interface Note {
  readonly key: string;
  /** Undefined: the store has not told it, and may have begun the upload or not. */
  readonly id?: string | undefined;
}

/** @param closing aborted when the storage is closed. @param room in which notes are counted while they are looked at */
export function createNotedUploads(client: S3Client, keyPrefix: string, closing: AbortSignal, room: ListingRoom): NotedUploads {
  const notes = createNotes(client, keyPrefix);
  const place: NotesPlace = { client, own: notes, room };
  const end = createEnding(place, closing);
  return {
    async begin(key, object, options) {
      const name = notes.newName();
      underWay.add(name);
      let id: string | undefined;
      // A write that broke off may reach the store after what takes it back.
      let isSure = true;
      const abort = async () => {
        await end(name, { key, id }, isSure);
        underWay.delete(name);
      };
      try {
        id = NONE;
        await notes.write(name, { key }, options);
        id = undefined;
        id = await client.createUpload(key, object, options);
      } catch (error) {
        isSure = false;
        await abort();
        throw error;
      }
      const begun = id;
      // Beside the first parts. Where it fails, the note of before leads to the upload.
      const noted = notes.write(name, { key, id }, options).catch(() => {
        isSure = false;
      });
      return {
        id,
        async complete(parts, condition, given) {
          const taken = await client.completeUpload(key, begun, parts, condition, given);
          await noted;
          underWay.delete(name);
          // The file is there: a note that stays leads to an upload that is gone.
          if (isSure) await notes.remove(name, { signal: AbortSignal.timeout(CLEAN_UP_MS) }).catch(() => undefined);
          else await end(name, { key, id: begun }, isSure);
          return taken;
        },
        async abort() {
          await noted;
          await abort();
        },
      };
    },
    async keysUnderWay(options) {
      // Of what has ended a note may stay for long, where the store does not hear of it: nothing comes of that any more.
      return lookAtNotes(place, keyPrefix, options, (noted) => noted?.flatMap(({ note, isLeft }) => (note && !isLeft ? [note.key] : [])));
    },
    async sweep(options) {
      for await (const name of notes.left(options)) {
        const note = await notes.read(name, options);
        if (note?.key.startsWith(keyPrefix)) await end(name, note, true);
      }
    },
  };
}

interface Noted {
  readonly name: string;
  /** Its process runs no more. */
  readonly isLeft: boolean;
  /** Undefined: it is gone, or none of ours. */
  readonly note: Note | undefined;
}

type Notes = ReturnType<typeof createNotes>;

/** The notes of a storage, and what they are looked at with. */
interface NotesPlace {
  readonly client: S3Client;
  readonly own: Notes;
  readonly room: ListingRoom;
}

/**
 * Looks at those of all storages whose roots may lie above a key: storages of one bucket may lie in each other. Where we may not look there are none for us.
 *
 * @param use is given them as `all` answers them, to be let go of when it returns
 */
async function lookAtNotes<Result>(
  { client, own, room }: NotesPlace,
  key: string,
  { signal }: CallOptions,
  use: (noted: Noted[] | undefined) => Result,
): Promise<Result> {
  const above = ['', ...[...key.matchAll(/\//g)].slice(0, MAX_ROOTS_ABOVE).map(({ index }) => key.slice(0, index + 1))];
  const others = above.filter((root) => root !== own.root).map((root) => createNotes(client, root));
  const share = room.enter(() => badAnswer('more notes of uploads than there can be'));
  // What still looks when it is over holds nothing any more.
  const over = new AbortController();
  const options = { signal: signal ? AbortSignal.any([signal, over.signal]) : over.signal };
  const take = (bytes: number) => {
    throwIfAborted(options.signal);
    share.take(bytes);
  };
  const ofOthers = others.map((notes) =>
    notes.all(options, take).catch((error: unknown) => {
      if (isRefusal(error)) return [];
      throw error;
    }),
  );
  try {
    const noted: Noted[] = [];
    for (const some of await Promise.all([own.all(options, take), ...ofOthers])) {
      if (some === undefined) return use(undefined);
      noted.push(...some);
    }
    return use(noted);
  } finally {
    over.abort();
    share.leave();
  }
}

/** The notes of uploads: small objects of one folder, whose names tell who wrote them. @param root what all keys of their storage begin with */
function createNotes(client: S3Client, root: string) {
  const folder = `${root}${UPLOADS_FOLDER}/`;
  const self = currentOwner();
  const isLeft = (name: string, modifiedAt: Date) =>
    (ownerOf(name, self) === 'self' && !underWay.has(name)) || isAbandoned(name, modifiedAt.getTime(), self, Date.now(), OTHERS_MAX_AGE_MS);
  const read = async (name: string, options: CallOptions): Promise<Note | undefined> => {
    try {
      const note: unknown = parseJson(await client.readText(folder + name, options));
      if (typeof note !== 'object' || note === null) return undefined;
      const [key, id]: unknown[] = [Reflect.get(note, 'key'), Reflect.get(note, 'id')];
      // The notes of all that is under way are held together.
      if (typeof key !== 'string' || key.length > MAX_KEY_BYTES) return undefined;
      return { key, id: typeof id === 'string' && id.length <= MAX_ID_LENGTH ? id : undefined };
    } catch (error) {
      // Another replica swept it.
      if (AppError.is(error, 'ENTRY_NOT_FOUND')) return undefined;
      throw error;
    }
  };
  /** What lies right in the folder: of a draft there may be thousands of pieces beside. Ends with undefined where there is more. */
  async function* pages(options: CallOptions): AsyncGenerator<ListedPage | undefined, void> {
    let seen = 0;
    for await (const page of client.pages({ prefix: folder, delimiter: '/', ...options })) {
      seen += 1;
      yield seen > MAX_SWEPT_PAGES ? undefined : page;
    }
  }
  return {
    root,
    newName: () => newOwnedName(self),
    read,
    write: (name: string, note: Note, options: CallOptions) =>
      client.put(folder + name, payloadOf(JSON.stringify(note), false), { contentType: NOTE_TYPE }, {}, options),
    remove: (name: string, options: CallOptions) => client.delete(folder + name, options),
    /** Undefined: it is gone. */
    async writtenAt(name: string, options: CallOptions) {
      return (await client.findHead(folder + name, options))?.modifiedAt;
    },
    /** Undefined: there are more than a page has. @param take is told of the memory that each takes; it may refuse */
    async all(options: CallOptions, take: (bytes: number) => void): Promise<Noted[] | undefined> {
      const named: { readonly name: string; readonly modifiedAt: Date }[] = [];
      for await (const page of pages(options)) {
        for (const { key, modifiedAt } of page?.objects ?? []) {
          const name = key.slice(folder.length);
          // What has another name is none of ours.
          if (OWNED_NAME.test(name)) named.push({ name, modifiedAt });
        }
        if (!page || named.length > PAGE_KEYS) return undefined;
      }
      const gate = createGate(PARALLEL_NOTES);
      const reading = named.map(({ name, modifiedAt }) =>
        gate.run(async () => {
          const note = await read(name, options);
          take(NOTE_BYTES + 2 * ((note?.key.length ?? 0) + (note?.id?.length ?? 0)));
          return { name, isLeft: isLeft(name, modifiedAt), note };
        }),
      );
      return Promise.all(reading);
    },
    /** The names of those whose process runs no more. */
    async *left(options: CallOptions): AsyncGenerator<string, void> {
      const pace = createPace(options.signal);
      for await (const page of pages(options)) {
        if (!page) return;
        for (const { key, modifiedAt } of page.objects) {
          await pace.step();
          const name = key.slice(folder.length);
          if (isLeft(name, modifiedAt)) yield name;
        }
      }
    },
  };
}

/** @returns takes back an upload and its note, whatever anybody's signal says; it never rejects, and goes on later until the storage is closed: then its next opening does */
function createEnding(place: NotesPlace, closing: AbortSignal) {
  const { client, own: notes } = place;
  /** The uploads that began when a note without an id was made. Undefined: others have noted one of the same key, and not its id. */
  const unnamed = async (name: string, key: string, notedAt: Date, options: CallOptions): Promise<readonly string[] | undefined> => {
    const sinceMs = notedAt.getTime() - CLOCK_STEPS_MS;
    const isOfThen = ({ startedAt }: OpenUpload) => startedAt.getTime() >= sinceMs && startedAt.getTime() <= sinceMs + LATE_BEGIN_MS;
    const begun = (await client.listUploads(key, options)).filter((upload) => upload.key === key && isOfThen(upload));
    if (begun.length === 0) return [];
    // After the uploads: those of others had their notes by then.
    const others = await lookAtNotes(place, key, options, (noted) =>
      noted?.filter((other) => other.name !== name && other.note?.key === key),
    );
    if (!others || others.some(({ note, isLeft }) => note?.id === undefined && !isLeft)) return undefined;
    const known = new Set(others.map(({ note }) => note?.id));
    return begun.filter(({ id }) => !known.has(id)).map(({ id }) => id);
  };
  /** Those that are to be ended, or why none is. */
  const toEnd = async (
    name: string,
    { key, id }: Note,
    options: CallOptions,
  ): Promise<readonly string[] | 'gone' | 'unclear' | 'never told'> => {
    if (id !== undefined) return [id];
    const notedAt = await notes.writtenAt(name, options);
    if (notedAt === undefined) return 'gone';
    try {
      return (await unnamed(name, key, notedAt, options)) ?? 'unclear';
    } catch (error) {
      if (isRefusal(error)) return 'never told';
      throw error;
    }
  };
  /** @returns whether nothing of it can come any more */
  const endNow = async (name: string, note: Note, isLate: boolean): Promise<boolean> => {
    const options = { signal: AbortSignal.timeout(CLEAN_UP_MS) };
    const ids = await toEnd(name, note, options);
    if (ids === 'gone') return true;
    if (ids === 'unclear' || (ids.length === 0 && !isLate)) return false;
    if (ids !== 'never told') for (const id of ids) if (id !== NONE) await client.abortUpload(note.key, id, options);
    await notes.remove(name, options);
    return true;
  };
  const isEnded = (name: string, note: Note, isLate: boolean) => endNow(name, note, isLate).catch(() => false);
  const endLater = async (name: string, note: Note, isSure: boolean): Promise<void> => {
    const lateMs = performance.now() + LATE_BEGIN_MS;
    for (let failures = 0; ; failures += 1) {
      await wait(PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)], undefined, { signal: closing, ref: false });
      const isLate = performance.now() > lateMs;
      const isOver = await isEnded(name, note, isLate);
      if ((isOver && (isSure || failures >= UNSURE_LOOKS)) || (isLate && note.id === undefined)) return;
    }
  };
  let waiting = 0;
  return async (name: string, note: Note, isSure: boolean): Promise<void> => {
    const isOver = await isEnded(name, note, false);
    if ((isOver && isSure) || waiting >= MAX_WAITING) return;
    waiting += 1;
    endLater(name, note, isSure)
      .catch(() => undefined)
      .finally(() => {
        waiting -= 1;
      });
  };
}

/** Whether a store lets us never see what is under way: keys may write without being allowed that. */
function isRefusal(error: unknown): boolean {
  return AppError.is(error, 'PERMISSION_DENIED') || AppError.is(error, 'UNSUPPORTED_OPERATION');
}
