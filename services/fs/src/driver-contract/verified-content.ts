import { createHash, type Hash } from 'node:crypto';
import { AppError } from '@wharf/errors';
import type { HashName, WriteOptions } from './storage-driver.ts';
import { abortError, storageError, throwIfAborted } from './storage-error.ts';

/** Holds the content of a write to what its options promise. */
class ContentCheck {
  readonly #options: WriteOptions;
  readonly #digests: { readonly hash: Hash; readonly expected: string }[];
  #isRight: boolean | undefined;
  receivedBytes = 0;

  constructor(options: WriteOptions) {
    this.#options = options;
    this.#digests = startDigests(options);
  }

  /** Whether {@link end} was asked. */
  get isEnded(): boolean {
    return this.#isRight !== undefined;
  }

  /** @throws AppError INVALID_ARGUMENT: more than was declared */
  take(chunk: Uint8Array): void {
    const { sizeBytes } = this.#options;
    this.receivedBytes += chunk.byteLength;
    if (sizeBytes !== undefined && this.receivedBytes > sizeBytes) throw wrongSize(sizeBytes);
    for (const { hash } of this.#digests) hash.update(chunk);
  }

  /** That was all. Safe twice. @throws AppError INVALID_ARGUMENT: less than was declared | CONTENT_CORRUPT: another hash */
  end(): void {
    const { sizeBytes } = this.#options;
    if (sizeBytes !== undefined && this.receivedBytes !== sizeBytes) throw wrongSize(sizeBytes);
    this.#isRight ??= this.#digests.every(({ hash, expected }) => hash.digest('hex') === expected);
    if (!this.#isRight) throw storageError('CONTENT_CORRUPT');
  }
}

/**
 * Passes the content of a write on and holds it to what `options` promise. A driver publishes the file only after this has ended well.
 *
 * @throws AppError INVALID_ARGUMENT (not the declared size, at the first byte too many) | CONTENT_CORRUPT (another hash) | CANCELLED
 */
export function verifiedContent(content: AsyncIterable<Uint8Array>, options: WriteOptions): AsyncGenerator<Uint8Array, void> {
  return checkedContent(content, options, new ContentCheck(options));
}

/** The content of a write on its way to a server, which may answer before it has all of it. */
export interface SentContent {
  /** As {@link verifiedContent}. */
  readonly pieces: AsyncGenerator<Uint8Array, void>;
  /** How many bytes have left. */
  bytes(): number;
  /**
   * To be asked when the server has taken it, as it says.
   * @throws AppError STORAGE_UNAVAILABLE: it cannot have all of it | CONTENT_CORRUPT: another hash
   */
  requireWhole(): void;
}

export function sentContent(content: AsyncIterable<Uint8Array>, options: WriteOptions): SentContent {
  const check = new ContentCheck(options);
  return {
    pieces: checkedContent(content, options, check),
    bytes: () => check.receivedBytes,
    requireWhole() {
      // Of a known size the server may have the last byte, and say so, before we are told that it has left.
      if (!check.isEnded && check.receivedBytes !== options.sizeBytes)
        throw storageError('STORAGE_UNAVAILABLE', new Error('the server answered before it had all of the content'));
      check.end();
    },
  };
}

async function* checkedContent(
  content: AsyncIterable<Uint8Array>,
  { signal }: WriteOptions,
  check: ContentCheck,
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of abortable(content, signal)) {
    if (chunk.byteLength === 0) continue;
    check.take(chunk);
    yield chunk;
  }
  check.end();
}

/** Passes chunks on until the signal aborts, also while the source has stalled: then the source is told to end, but not waited for. */
export async function* abortable(content: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void> {
  throwIfAborted(signal);
  if (signal === undefined) return yield* content;
  const source = content[Symbol.asyncIterator]();
  let isIdle = true;
  let stopWaiting: (reason: unknown) => void = () => undefined;
  const onAbort = () => stopWaiting(abortError(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (;;) {
      const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Uint8Array, unknown>>();
      stopWaiting = reject;
      throwIfAborted(signal);
      source.next().then(resolve, reject);
      isIdle = false;
      const step = await promise;
      throwIfAborted(signal);
      if (step.done === true) return;
      isIdle = true;
      yield step.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    if (isIdle) await source.return?.();
    else source.return?.().catch(() => undefined);
  }
}

function wrongSize(sizeBytes: number): AppError {
  return new AppError('INVALID_ARGUMENT', `the content does not have the announced ${sizeBytes} bytes`);
}

const HASH_NAMES: readonly HashName[] = ['md5', 'sha1', 'sha256'];

function startDigests({ expectedHashes }: WriteOptions): { hash: Hash; expected: string }[] {
  return HASH_NAMES.flatMap((name) => {
    const expected = expectedHashes?.[name];
    return expected === undefined ? [] : [{ hash: createHash(name), expected: expected.toLowerCase() }];
  });
}
