import fs from 'node:fs';
import { promisify } from 'node:util';
import type { MountPath } from '@wharf/paths';
import { dropBatch, takeBatch } from '../../driver-contract/batches.ts';
import { orClosed } from '../../driver-contract/calls.ts';
import type { CallOptions, Draft, DraftOptions, Entry, PublishOptions } from '../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { abortable } from '../../driver-contract/verified-content.ts';
import type { Disk } from './disk-pool.ts';
import { toAppError } from './errors.ts';
import { readPiece } from './file-content.ts';
import { publishFile } from './publish-file.ts';
import { pumpContent } from './pump-content.ts';
import { createSharedSync } from './shared-sync.ts';
import type { TempRef } from './temp-area.ts';

const syncData = promisify(fs.fdatasync);
const statHandle = promisify(fs.fstat);
const setTimes = promisify(fs.futimes);
const closeHandle = promisify(fs.close);

/** A temporary file that belongs to no process, open in this one. */
export class LocalDraft implements Draft {
  readonly partBytes = 1;
  readonly #disk: Disk;
  readonly #file: MountPath;
  readonly #temp: TempRef;
  #fd: number | undefined;
  /** What uses the handle now. Closing it under a write would let that write go on into whatever file gets its number next. */
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  readonly #sync = createSharedSync(() => this.#use((fd) => syncData(fd)));

  private constructor(disk: Disk, file: MountPath, temp: TempRef, fd: number) {
    this.#disk = disk;
    this.#file = file;
    this.#temp = temp;
    this.#fd = fd;
  }

  static async open(disk: Disk, file: MountPath, id: string, { create, signal }: DraftOptions): Promise<LocalDraft> {
    const closeLate = ({ fd }: { fd: number }) => fs.close(fd, () => undefined);
    const { temp, fd } = await disk.call('openDraft', [file, id, create], signal, closeLate);
    return new LocalDraft(disk, file, temp, fd);
  }

  write(offsetBytes: number, content: AsyncIterable<Uint8Array>, { signal }: CallOptions = {}): Promise<number> {
    const until = orClosed(signal, this.#closing.signal);
    return this.#use(async (fd) => {
      const writtenBytes = await pumpContent(fd, abortable(content, until), this.#disk.slots, offsetBytes);
      throwIfAborted(until);
      return writtenBytes;
    });
  }

  sync(): Promise<void> {
    return this.#sync();
  }

  sizeBytes(): Promise<number> {
    return this.#use(async (fd) => (await statHandle(fd)).size);
  }

  async *read({ signal }: CallOptions = {}): AsyncGenerator<Uint8Array, void> {
    const batch = takeBatch();
    try {
      for (let position = 0; ; ) {
        throwIfAborted(signal);
        const at = position;
        const chunk = await this.#use((fd) => readPiece(fd, at, batch));
        if (chunk.byteLength === 0) return;
        position += chunk.byteLength;
        yield chunk;
      }
    } finally {
      dropBatch(batch);
    }
  }

  async publish({ modifiedAt, ...options }: PublishOptions): Promise<Entry> {
    if (modifiedAt !== undefined) await this.#use((open) => setTimes(open, new Date(), modifiedAt));
    const fd = await this.#letGo();
    if (fd === undefined) throw storageError('STORAGE_UNAVAILABLE');
    return publishFile(this.#disk, { temp: this.#temp, fd, isDraft: true }, this.#file, options);
  }

  async discard(): Promise<void> {
    await this.close();
    await this.#disk.call('discard', [this.#temp]);
  }

  async close(): Promise<void> {
    const fd = await this.#letGo();
    if (fd !== undefined) await closeHandle(fd);
  }

  /** Ends what is being written. @returns the handle, which nobody uses any more; undefined when it was let go of before */
  async #letGo(): Promise<number | undefined> {
    const fd = this.#fd;
    this.#fd = undefined;
    this.#closing.abort(storageError('STORAGE_UNAVAILABLE'));
    await Promise.allSettled(this.#running);
    return fd;
  }

  #handle(): number {
    if (this.#fd === undefined) throw storageError('STORAGE_UNAVAILABLE');
    return this.#fd;
  }

  async #use<Result>(run: (fd: number) => Promise<Result>): Promise<Result> {
    const running = run(this.#handle());
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      // What the content throws is its own.
      throw error instanceof Error && 'syscall' in error && 'errno' in error ? toAppError(error) : error;
    } finally {
      this.#running.delete(running);
    }
  }
}
