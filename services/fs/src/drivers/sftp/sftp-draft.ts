import type { Call, Calls } from '../../driver-contract/calls.ts';
import { orClosed } from '../../driver-contract/calls.ts';
import type { CallOptions, Draft, Entry, PublishOptions } from '../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { abortable } from '../../driver-contract/verified-content.ts';
import { readStretch } from './file-content.ts';
import { pumpContent } from './pump-content.ts';
import type { RemoteFile } from './remote-file.ts';

/** What a draft needs of its storage. */
export interface DraftPlace {
  readonly calls: Calls;
  /** Opens the file of the draft. @throws AppError ENTRY_NOT_FOUND */
  open(): Promise<RemoteFile>;
  /** Gives the open file, which is closed with that, its name. */
  publish(file: RemoteFile, options: PublishOptions, call: Call): Promise<Entry>;
  discard(): Promise<void>;
}

/** A temporary file that belongs to no process, open in this one. Where its connection breaks it is opened again. */
export class SftpDraft implements Draft {
  readonly partBytes = 1;
  readonly #place: DraftPlace;
  readonly #closing = new AbortController();
  /** What uses the file now. */
  readonly #running = new Set<Promise<unknown>>();
  #file: Promise<RemoteFile> | undefined;

  constructor(place: DraftPlace, file: RemoteFile) {
    this.#place = place;
    this.#file = Promise.resolve(file);
  }

  write(offsetBytes: number, content: AsyncIterable<Uint8Array>, { signal }: CallOptions = {}): Promise<number> {
    return this.#use(signal, async (file, call) => {
      const writtenBytes = await pumpContent(file, abortable(content, call.signal), offsetBytes);
      throwIfAborted(call.signal);
      return writtenBytes;
    });
  }

  sync(): Promise<void> {
    return this.#use(undefined, async (file) => {
      if (file.session.extensions.fsync) await file.session.fsync(file.handle);
    });
  }

  sizeBytes(): Promise<number> {
    return this.#use(undefined, async (file) => (await file.fstat()).sizeBytes);
  }

  async *read({ signal }: CallOptions = {}): AsyncGenerator<Uint8Array, void> {
    const { calls } = this.#place;
    const end = await this.sizeBytes();
    const until = orClosed(signal, this.#closing.signal);
    // A handle of its own, which reading closes.
    const file = await calls.run(
      { signal: until },
      () => this.#place.open(),
      async (late) => late.letGo(),
    );
    yield* { [Symbol.asyncIterator]: () => readStretch(file, { start: 0, end }, calls, until) };
  }

  async publish(options: PublishOptions): Promise<Entry> {
    const file = await this.#letGo();
    if (file === undefined) throw storageError('STORAGE_UNAVAILABLE');
    return this.#place.calls.run(options, async (call) => {
      const open = file.session.isEnded ? await this.#place.open() : file;
      try {
        return await this.#place.publish(open, options, call);
      } finally {
        open.letGo();
      }
    });
  }

  async discard(): Promise<void> {
    await this.close();
    await this.#place.discard();
  }

  async close(): Promise<void> {
    (await this.#letGo())?.letGo();
  }

  /** Ends what is being written. @returns the file, which nobody uses any more; undefined when it was let go of before */
  async #letGo(): Promise<RemoteFile | undefined> {
    const file = this.#file;
    this.#file = undefined;
    this.#closing.abort(storageError('STORAGE_UNAVAILABLE'));
    await Promise.allSettled(this.#running);
    return file?.catch(() => undefined);
  }

  async #current(): Promise<RemoteFile> {
    const known = this.#file;
    if (known === undefined) throw storageError('STORAGE_UNAVAILABLE');
    const file = await known;
    if (!file.session.isEnded) return file;
    if (this.#file === known) {
      file.letGo();
      this.#file = this.#place.open();
      this.#file.catch(() => undefined);
    }
    return this.#current();
  }

  async #use<Result>(signal: AbortSignal | undefined, work: (file: RemoteFile, call: Call) => Promise<Result>): Promise<Result> {
    if (this.#file === undefined) throw storageError('STORAGE_UNAVAILABLE');
    const until = orClosed(signal, this.#closing.signal);
    const running = this.#place.calls.run({ signal: until }, async (call) => work(await this.#current(), call));
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }
}
