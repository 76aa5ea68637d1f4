import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { AppError } from '@wharf/errors';
import type { MountPath } from '@wharf/paths';
import type { Call } from '../../driver-contract/calls.ts';
import { takePartBuffer } from '../../driver-contract/part-buffers.ts';
import type { WriteOptions } from '../../driver-contract/storage-driver.ts';
import { saidOfPart, storageError } from '../../driver-contract/storage-error.ts';
import { abortable, sentContent } from '../../driver-contract/verified-content.ts';
import type { GatewayClient } from './client.ts';
import { isSame, type RemoteDetail } from './entries.ts';

/** A content of so many bytes at most is kept until the gateway has it: what is saved between the look and the put is looked at again. */
const KEPT_BYTES = 2 * 1024 ** 2;
/** So often at most: a proxy that sends each put twice has each refused for what it has itself stored. */
const MAX_REFUSALS = 5;
/** How often a name may be given to something else between a look and its answer. */
const MAX_TRIES = 100;

/** What a put goes by. */
interface Put {
  readonly client: GatewayClient;
  readonly path: MountPath;
  readonly options: WriteOptions;
  readonly call: Call;
  /** Asked when the content is complete: whether the file may have its name. */
  readonly mayPublish: (() => Promise<void>) | undefined;
}

/** Something else has the name than was looked at, as the gateway says. */
class Refused extends Error {
  override readonly cause: AppError;

  constructor(cause: AppError) {
    super('the gateway has another file there');
    this.cause = cause;
  }
}

/**
 * Puts a file to another Wharf, which stores it whole or not at all. Each put says what it is to replace: one that is carried out late, after its sender was told
 * that it failed, or when it was sent again, replaces nothing that was saved since.
 *
 * @returns how many bytes were sent
 * @throws AppError STORAGE_UNAVAILABLE: another file has got the name meanwhile, and the content is gone; what `mayPublish` throws, and the gateway
 */
export async function putToWharf(content: AsyncIterable<Uint8Array>, put: Put): Promise<number> {
  const { sizeBytes = KEPT_BYTES, overwrite, caller } = put.options;
  if (!overwrite) return sendOnce(content, put, {});
  if (sizeBytes > KEPT_BYTES) return sendAsItComes(content, put);
  const { signal } = put.call;
  const source = abortable(content, signal);
  const { memory, release } = await takePartBuffer(Math.max(1, sizeBytes), { signal, caller });
  try {
    const { bytes, rest } = await takeFirst(source, memory);
    return await (rest === undefined ? sendKept(bytes, put) : sendAsItComes(afterFirst([bytes, rest], source), put));
  } finally {
    release();
    // It may stand still.
    source.return().catch(() => undefined);
  }
}

/** @returns what of it the memory has, and what comes next where that is not all */
async function takeFirst(
  source: AsyncGenerator<Uint8Array, void>,
  memory: Buffer,
): Promise<{ bytes: Uint8Array; rest: Uint8Array | undefined }> {
  let filled = 0;
  for (;;) {
    const step = await source.next();
    const bytes = memory.subarray(0, filled);
    if (step.done) return { bytes, rest: undefined };
    // It is lent until the next one is asked for.
    if (step.value.byteLength > memory.byteLength - filled) return { bytes, rest: step.value };
    memory.set(step.value, filled);
    filled += step.value.byteLength;
  }
}

async function* afterFirst(first: readonly Uint8Array[], source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  yield* first;
  yield* source;
}

async function sendAsItComes(content: AsyncIterable<Uint8Array>, put: Put): Promise<number> {
  return sendOnce(content, put, { ...conditionOf(await look(put)), isOnce: true }).catch(orTold);
}

/** It is asked before whether what is there may be replaced, and again where something else is: what comes after that is refused there. */
async function sendKept(bytes: Uint8Array, put: Put): Promise<number> {
  const { beforePublish } = put.options;
  let asked: { readonly there: RemoteDetail | undefined } | undefined;
  let refused: { readonly there: RemoteDetail | undefined; readonly cause: AppError } | undefined;
  for (let [tries, refusals] = [0, 0]; tries < MAX_TRIES; tries += 1) {
    const there = await look(put);
    // There is nothing that it could have been refused for: what is wrong is above it.
    if (refused && !refused.there && !there) throw refused.cause;
    if (beforePublish && !(asked && isSame(asked.there, there))) {
      await beforePublish();
      asked = { there };
      continue;
    }
    try {
      const condition = refusals < MAX_REFUSALS ? conditionOf(there) : {};
      return await sendOnce(
        Readable.from([bytes]),
        { ...put, mayPublish: undefined },
        { ...condition, isOnce: beforePublish !== undefined },
      );
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      refused = { there, cause: error.cause };
      refusals += 1;
    }
  }
  throw storageError('STALE_VERSION');
}

/** Who has the content may send it again. */
function orTold(error: unknown): never {
  if (!(error instanceof Refused)) throw error;
  throw AppError.is(error.cause, 'STALE_VERSION') ? replacedMeanwhile(error.cause) : error.cause;
}

/** It is said of one file: the gateway is there. */
export function replacedMeanwhile(cause: AppError): AppError {
  return saidOfPart(new AppError('STORAGE_UNAVAILABLE', 'another file has got the name meanwhile; try again', { cause }));
}

/** What a file is to replace. @throws AppError IS_A_DIRECTORY */
async function look({ client, path, call }: Put): Promise<RemoteDetail | undefined> {
  const there = await client.look(path, call);
  if (there?.isDirectory) throw storageError('IS_A_DIRECTORY');
  return there;
}

/** What one put is to replace. Nothing said: whatever has the name by then. */
interface Condition {
  /** The ETag of the file; empty where it has none. */
  readonly replaces?: string;
  readonly isNew?: boolean;
  /** A proxy may send a put twice: under a key the second is answered as the first, and not refused for what that has stored. */
  readonly isOnce?: boolean;
}

function conditionOf(there: RemoteDetail | undefined): Condition {
  return there ? { replaces: there.etag } : { isNew: true };
}

/** @throws Refused; what `mayPublish` throws, and the gateway */
async function sendOnce(
  content: AsyncIterable<Uint8Array>,
  { client, path, options, call, mayPublish }: Put,
  { replaces = '', isNew = false, isOnce = false }: Condition,
): Promise<number> {
  const { sizeBytes, modifiedAt, expectedHashes } = options;
  // An answer may come before the end of the content.
  const answered = new AbortController();
  const sent = sentContent(content, { ...options, signal: AbortSignal.any([call.signal, answered.signal]) });
  let isAllowed = false;
  let ownRefusal: unknown;
  const untilAllowed = async function* () {
    yield* sent.pieces;
    try {
      await mayPublish?.();
      await call.stillWanted();
    } catch (error) {
      ownRefusal = error;
      throw error;
    }
    isAllowed = true;
  };
  const overwrite = options.overwrite && !isNew;
  const file = { overwrite, replaces, sizeBytes, modifiedAt, expectedHashes, ...(isOnce && { onceKey: randomUUID() }) };
  try {
    await client.put(path, untilAllowed(), file, call);
    if (!isAllowed) throw storageError('STORAGE_UNAVAILABLE', new Error('the gateway answered before it had all of the content'));
    return sent.bytes();
  } catch (error) {
    if (ownRefusal !== undefined) throw ownRefusal;
    const isOther = (isNew && AppError.is(error, 'ENTRY_EXISTS')) || (replaces !== '' && AppError.is(error, 'STALE_VERSION'));
    throw isOther ? new Refused(error) : error;
  } finally {
    answered.abort();
  }
}
