import { constants } from 'node:fs';
import { type FileHandle, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '@wharf/errors';
import type { DiskRoom } from './disk-room.ts';
import { isDraftId } from './draft.ts';
import { hasCode, hasNoSpace, isMissing, openOwnFolder } from './own-folder.ts';
import type { CallOptions, Draft } from './storage-driver.ts';
import { storageError, throwIfAborted } from './storage-error.ts';
import { abortable } from './verified-content.ts';

const CHUNK_BYTES = 256 * 1024;

/** What of a draft is there without a storage that could give it its name. */
export type DraftContent = Omit<Draft, 'publish'>;

/** A draft of the spool, by what makes its name. */
interface SpooledFile {
  /** Of a draft. */
  readonly id: string;
  /** Announced: so much of the spool is taken from the beginning on. */
  readonly sizeBytes: number;
}

/**
 * Drafts for storages that take whole files only, in a folder of this machine. They survive a crash. Replicas that see the same folder share it, with its
 * bound.
 */
export interface DraftSpool {
  /** Tells this folder from those of other replicas, for ever. */
  readonly id: string;
  /** Of all drafts in it, as announced. */
  readonly limitBytes: number;
  /** @throws AppError QUOTA_EXCEEDED: no room for all its bytes | ENTRY_EXISTS */
  create(file: SpooledFile): Promise<DraftContent>;
  /** @throws AppError ENTRY_NOT_FOUND */
  open(file: SpooledFile): Promise<DraftContent>;
  /** Nothing there is success. */
  remove(file: SpooledFile): Promise<void>;
  /** Removes drafts of which nobody knows. @param isKnown asked after the draft was found */
  sweep(isKnown: (id: string) => Promise<boolean>): Promise<void>;
}

/** @throws Error of the system: nothing can be kept there */
export function openDraftSpool(path: string, limitBytes: number): DraftSpool {
  const folder = openOwnFolder(path, noRoom);
  const placeOf = ({ id, sizeBytes }: SpooledFile) => join(path, `${id}-${sizeBytes}`);
  const files = async () => (await readdir(path)).map(parse).filter((file) => file !== undefined);
  const opened = async (file: SpooledFile, flags: number) => {
    const place = placeOf(file);
    try {
      return new SpooledDraft(await open(place, flags | constants.O_NOFOLLOW, 0o600), place, folder.room);
    } catch (error) {
      if (isMissing(error)) throw storageError('ENTRY_NOT_FOUND');
      throw hasCode(error, 'EEXIST') ? storageError('ENTRY_EXISTS') : error;
    }
  };
  return {
    id: folder.id,
    limitBytes,
    async create(file) {
      const draft = await opened(file, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL);
      try {
        // Looked at once it is there: of several at a time, none is overlooked.
        const takenBytes = (await files()).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
        if (takenBytes > limitBytes) throw noRoom();
        await folder.room.require(file.sizeBytes);
        await folder.room.take(0, 1);
        await folder.sync();
        return draft;
      } catch (error) {
        await draft.discard();
        throw error;
      }
    },
    open: (file) => opened(file, constants.O_RDWR),
    remove: (file) => rm(placeOf(file), { force: true }),
    async sweep(isKnown) {
      for (const file of await files()) if (!(await isKnown(file.id))) await rm(placeOf(file), { force: true });
    },
  };
}

function parse(name: string): SpooledFile | undefined {
  const [id = '', bytes = ''] = name.split('-');
  return isDraftId(id) && /^\d+$/.test(bytes) ? { id, sizeBytes: Number(bytes) } : undefined;
}

class SpooledDraft implements DraftContent {
  readonly partBytes = 1;
  readonly #file: FileHandle;
  readonly #place: string;
  readonly #room: DiskRoom;

  constructor(file: FileHandle, place: string, room: DiskRoom) {
    this.#file = file;
    this.#place = place;
    this.#room = room;
  }

  async write(offsetBytes: number, content: AsyncIterable<Uint8Array>, { signal }: CallOptions = {}): Promise<number> {
    let at = offsetBytes;
    try {
      for await (const chunk of abortable(content, signal)) {
        // Many may have been announced that fit one by one.
        await this.#room.take(chunk.byteLength);
        for (let from = 0; from < chunk.byteLength; ) {
          const { bytesWritten } = await this.#file.write(chunk, from, chunk.byteLength - from, at);
          from += bytesWritten;
          at += bytesWritten;
        }
      }
    } catch (error) {
      throw hasNoSpace(error) ? noRoom(error) : error;
    }
    return at - offsetBytes;
  }

  sync(): Promise<void> {
    return this.#file.datasync();
  }

  async sizeBytes(): Promise<number> {
    return (await this.#file.stat()).size;
  }

  async *read({ signal }: CallOptions = {}): AsyncGenerator<Uint8Array, void> {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let at = 0; ; ) {
      throwIfAborted(signal);
      const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  async discard(): Promise<void> {
    await this.close();
    await rm(this.#place, { force: true });
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

function noRoom(cause?: unknown): AppError {
  const message =
    'this storage takes whole files only, and there is no room to keep parts until they are one: try again later, or without parts';
  return new AppError('QUOTA_EXCEEDED', message, { cause });
}
