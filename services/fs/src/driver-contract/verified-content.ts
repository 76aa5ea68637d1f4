import { createHash, type Hash } from 'node:crypto';
import { AppError } from '@wharf/errors';
import type { HashName, WriteOptions } from './storage-driver.ts';
import { abortError, storageError, throwIfAborted } from './storage-error.ts';

/**
 * Passes the content of a write on and holds it to what `options` promise. A driver publishes the file only after this has ended well.
 *
 * @throws AppError INVALID_ARGUMENT (not the declared size, at the first byte too many) | CONTENT_CORRUPT (another hash) | CANCELLED
 */
export async function* verifiedContent(content: AsyncIterable<Uint8Array>, options: WriteOptions): AsyncGenerator<Uint8Array, void> {
  const { sizeBytes, signal } = options;
  const digests = startDigests(options);
  let receivedBytes = 0;
  for await (const chunk of abortable(content, signal)) {
    if (chunk.byteLength === 0) continue;
    receivedBytes += chunk.byteLength;
    if (sizeBytes !== undefined && receivedBytes > sizeBytes) throw wrongSize(sizeBytes);
    for (const { hash } of digests) hash.update(chunk);
    yield chunk;
  }
  if (sizeBytes !== undefined && receivedBytes !== sizeBytes) throw wrongSize(sizeBytes);
  for (const { hash, expected } of digests) {
    if (hash.digest('hex') !== expected) throw storageError('CONTENT_CORRUPT');
  }
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
