import fs from 'node:fs';
import { promisify } from 'node:util';
import { baseName, type MountPath, ROOT_NAME } from '@wharf/paths';
import type { Draft, DraftOptions, PublishOptions } from '../../driver-contract/draft.ts';
import type { CallOptions, Entry } from '../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { DiskPool } from './disk-pool.ts';
import { toAppError } from './errors.ts';
import { unpackEntry } from './packed-entries.ts';
import { pumpContent } from './pump-content.ts';
import type { TempRef } from './temp-area.ts';

const syncData = promisify(fs.fdatasync);
const statHandle = promisify(fs.fstat);
const setTimes = promisify(fs.futimes);
const closeHandle = promisify(fs.close);
const READ_CHUNK_BYTES = 1024 * 1024;

/** A temporary file that belongs to no process, open in this one. */
export class LocalDraft implements Draft {
  readonly #disk: DiskPool;
  readonly #file: MountPath;
  readonly #temp: TempRef;
  #fd: number | undefined;

  private constructor(disk: DiskPool, file: MountPath, temp: TempRef, fd: number) {
    this.#disk = disk;
    this.#file = file;
    this.#temp = temp;
    this.#fd = fd;
  }

  static async open(disk: DiskPool, file: MountPath, id: string, { create, signal }: DraftOptions): Promise<LocalDraft> {
    const closeLate = ({ fd }: { fd: number }) => fs.close(fd, () => undefined);
    const { temp, fd } = await disk.call('openDraft', [file, id, create], signal, closeLate);
    return new LocalDraft(disk, file, temp, fd);
  }

  write(offsetBytes: number, content: AsyncIterable<Uint8Array>, { signal }: CallOptions = {}): Promise<number> {
    return this.#use(async (fd) => {
      const writtenBytes = await pumpContent(fd, content, this.#disk.slots, offsetBytes);
      throwIfAborted(signal);
      return writtenBytes;
    });
  }

  sync(): Promise<void> {
    return this.#use((fd) => syncData(fd));
  }

  sizeBytes(): Promise<number> {
    return this.#use(async (fd) => (await statHandle(fd)).size);
  }

  async *read({ signal }: CallOptions = {}): AsyncGenerator<Uint8Array, void> {
    for (let position = 0; ; ) {
      throwIfAborted(signal);
      const at = position;
      const chunk = await this.#use(async (fd) => readChunk(fd, at));
      if (chunk.byteLength === 0) return;
      position += chunk.byteLength;
      yield chunk;
    }
  }

  async publish({ overwrite, modifiedAt }: PublishOptions): Promise<Entry> {
    const fd = this.#handle();
    if (modifiedAt !== undefined) await this.#use((open) => setTimes(open, new Date(), modifiedAt));
    // The worker closes the handle, whatever comes.
    this.#fd = undefined;
    const packed = await this.#disk.call('publish', [this.#temp, fd, this.#file, overwrite]);
    const entry = unpackEntry(baseName(this.#file) ?? ROOT_NAME, packed, 0);
    if (entry === undefined) throw storageError('ENTRY_NOT_FOUND');
    return entry;
  }

  async discard(): Promise<void> {
    await this.close();
    await this.#disk.call('discard', [this.#temp]);
  }

  async close(): Promise<void> {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd !== undefined) await closeHandle(fd);
  }

  #handle(): number {
    if (this.#fd === undefined) throw storageError('STORAGE_UNAVAILABLE');
    return this.#fd;
  }

  async #use<Result>(run: (fd: number) => Promise<Result>): Promise<Result> {
    try {
      return await run(this.#handle());
    } catch (error) {
      // What the content throws is its own.
      throw error instanceof Error && 'syscall' in error && 'errno' in error ? toAppError(error) : error;
    }
  }
}

function readChunk(fd: number, position: number): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafe(READ_CHUNK_BYTES);
  return new Promise((resolve, reject) => {
    fs.read(fd, buffer, 0, READ_CHUNK_BYTES, position, (error, bytesRead) => {
      if (error) reject(error);
      else resolve(buffer.subarray(0, bytesRead));
    });
  });
}
