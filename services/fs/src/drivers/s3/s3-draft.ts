import type { CallOptions, Draft, Entry, PublishOptions, RangeOptions } from '../../driver-contract/storage-driver.ts';
import { abortError, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { abortable } from '../../driver-contract/verified-content.ts';
import { cutIntoParts, type PartHashes } from './part-source.ts';
import type { StoredDraft } from './stored-draft.ts';
import { storeParts } from './upload-parts.ts';

/** What a draft needs of its storage. */
export interface DraftPlace {
  readonly hashes: PartHashes;
  /** Aborted when the storage is closed. */
  readonly closing: AbortSignal;
  read(draft: StoredDraft, options: CallOptions): AsyncIterable<Uint8Array>;
  /** Gives the file its name and removes the draft. */
  publish(draft: StoredDraft, options: PublishOptions): Promise<Entry>;
}

/** An upload in parts that belongs to no process, opened in this one. Nothing of it is kept here: every call asks the store how it stands. */
export class S3Draft implements Draft {
  readonly partBytes: number;
  readonly #stored: StoredDraft;
  readonly #place: DraftPlace;
  readonly #closed = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(place: DraftPlace, stored: StoredDraft) {
    this.#place = place;
    this.#stored = stored;
    this.partBytes = stored.partBytes;
  }

  write(offsetBytes: number, content: AsyncIterable<Uint8Array>, options: RangeOptions = {}): Promise<number> {
    return this.#use(options.signal, (signal) => this.#write(offsetBytes, content, { ...options, signal }));
  }

  /** What was written is in the store. */
  async sync(): Promise<void> {
    this.#check();
  }

  sizeBytes(): Promise<number> {
    return this.#use(undefined, (signal) => this.#stored.sizeBytes({ signal }));
  }

  async *read(options: CallOptions = {}): AsyncGenerator<Uint8Array, void> {
    const signal = this.#until(options.signal);
    await this.#use(signal, () => this.#stored.seal({ ...options, signal }));
    yield* this.#place.read(this.#stored, { ...options, signal });
  }

  async publish(options: PublishOptions): Promise<Entry> {
    const entry = await this.#use(options.signal, (signal) => this.#place.publish(this.#stored, { ...options, signal }));
    await this.close();
    return entry;
  }

  async discard(): Promise<void> {
    await this.close();
    await this.#stored.remove();
  }

  async close(): Promise<void> {
    this.#closed.abort(storageError('STORAGE_UNAVAILABLE'));
    await Promise.allSettled(this.#running);
  }

  async #write(offsetBytes: number, content: AsyncIterable<Uint8Array>, options: RangeOptions): Promise<number> {
    const { signal, caller, onProgress } = options;
    const { partBytes } = this;
    const stop = new AbortController();
    const forward = () => stop.abort(signal && abortError(signal));
    signal?.addEventListener('abort', forward, { once: true });
    if (signal?.aborted) forward();
    const source = cutIntoParts(abortable(content, stop.signal), {
      sizeBytes: this.#stored.bytesFrom(offsetBytes),
      partBytes: (count) => (count === 0 ? partBytes - (offsetBytes % partBytes) : partBytes),
      caller,
      onProgress,
      hashes: this.#place.hashes,
    });
    let end = offsetBytes;
    try {
      await storeParts<void>(stop, async (_, send) => {
        const part = await source.next(stop.signal);
        const start = end;
        end += part.bytes.byteLength;
        if (end === start) part.release();
        else send(this.#stored.store(start, part, { signal: stop.signal, caller, onProgress }));
        return !part.isLast;
      });
      return end - offsetBytes;
    } finally {
      signal?.removeEventListener('abort', forward);
      stop.abort();
      await source.end();
    }
  }

  #check(): void {
    throwIfAborted(this.#until(undefined));
  }

  #until(signal: AbortSignal | undefined): AbortSignal {
    return AbortSignal.any([this.#closed.signal, this.#place.closing, ...(signal ? [signal] : [])]);
  }

  async #use<Result>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const until = this.#until(signal);
    throwIfAborted(until);
    const running = work(until);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }
}
