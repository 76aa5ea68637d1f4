import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '@wharf/egress';
import { AppError, ERROR_CODES } from '@wharf/errors';
import { PartMap, type SavedParts } from '../domain/part-map.ts';
import type { RateLimit } from './rate-limit.ts';
import { decoded, readBody } from './read-body.ts';
import { type FetchNetwork, openRange, type Source } from './source.ts';

/** Where the bytes of one file go. Calls for different ranges may run in parallel. */
export interface FileSink {
  /** Content is best cut at multiples of this; 1: anywhere. */
  readonly partBytes: number;
  /** Stores content from this offset on. A piece is lent until the next one is asked for. After a failure what was there is undefined. */
  write(offsetBytes: number, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
  /** Makes durable what was written. */
  sync(): Promise<void>;
}

export interface TransferOptions {
  readonly network: FetchNetwork;
  /** The address that the user gave. When a redirect has expired, this address is asked again. */
  readonly origin: URL;
  readonly source: Source;
  readonly sink: FileSink;
  /** Parts that are there already. */
  readonly saved: SavedParts | undefined;
  /** 1 to 16. */
  readonly connections: number;
  readonly limits: readonly RateLimit[];
  readonly stallMs: number;
  /** Bytes that a source of unknown size may send. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Bytes that came, or less than 0 for bytes that have to come again. */
  readonly onBytes: (bytes: number) => void;
  /** Keeps the part map; called after the parts it names are durable, at most every `saveEveryMs` and at the end, also of a failure. */
  readonly onSave: (saved: SavedParts) => Promise<void>;
  readonly saveEveryMs: number;
}

/** Failures of one range without a byte in between, before it is given up. */
const MAX_FAILURES = 5;
const FIRST_WAIT_MS = 250;
/** What came of a part that is not whole after so long is stored. */
const SLOW_STRETCH_MS = 30_000;
/** Answers that mean: not so many connections. */
const CROWDED = new Set([403, 429, 503]);
/** Answers of an address whose signature has run out. */
const EXPIRED = new Set([401, 403, 404, 410]);

/**
 * Carries a source into a sink: in parts over several connections where the server can, else in one stream.
 *
 * @returns the bytes that are there.
 * @throws AppError STALE_VERSION (the source changed: everything begins again) | RANGE_NOT_SATISFIABLE (its ranges cannot be relied on: again
 * without them) | QUOTA_EXCEEDED (more than `maxBytes`) | whatever the source, the sink or the signal says
 */
export async function transfer(options: TransferOptions): Promise<number> {
  const { source, saved } = options;
  if (source.hasRanges && source.sizeBytes !== undefined) {
    const map = saved ? new PartMap(saved) : PartMap.begin(source.sizeBytes, source.validator, options.sink.partBytes);
    await transferParts(options, map, source.sizeBytes);
    return source.sizeBytes;
  }
  return transferStream(options);
}

async function transferStream(options: TransferOptions): Promise<number> {
  const { source, sink, signal, stallMs, limits } = options;
  let received = 0;
  const body = readBody(source.response, source.encoding === '' ? source.sizeBytes : undefined, { signal, stallMs, limits });
  const counted = async function* () {
    for await (const chunk of source.encoding === '' ? body : decoded(body, source.encoding)) {
      received += chunk.byteLength;
      if (received > options.maxBytes) throw tooBig(options.maxBytes);
      options.onBytes(chunk.byteLength);
      yield chunk;
    }
  };
  try {
    await sink.write(0, counted(), signal);
    return received;
  } catch (error) {
    options.onBytes(-received);
    throw error;
  }
}

async function transferParts(options: TransferOptions, map: PartMap, sizeBytes: number): Promise<void> {
  const { source, sink } = options;
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const missing = map.missing();
  /** Parts that a worker could not fetch for the crowd. */
  const returned: number[] = [];
  const take = () => returned.pop() ?? missing.next().value;
  const where = { url: source.url };
  let opened: Answer | undefined = source.response;
  if (map.isDone(0) || map.range(0).start !== 0) {
    opened.destroy();
    opened = undefined;
  }
  const save = createSaver(options, map);
  let workers = 0;

  const fetchPart = async (part: number): Promise<void> => {
    const { start, end } = map.range(part);
    const first = start === 0 ? opened : undefined;
    const isCrowded = () => workers > 1;
    const range = rangeContent({ ...options, signal }, { where, sizeBytes, start, end, first, isCrowded });
    try {
      while (!map.isDone(part)) await fetchStretch(part, range);
      // Its end frees the connection.
      await range.next();
    } finally {
      await range.return();
    }
  };
  /**
   * Fetches a part until its progress is due to be saved. So a slow part does not begin anew after each failure. Where parts of parts cost the storage
   * more, that is later.
   */
  const fetchStretch = async (part: number, range: AsyncGenerator<Uint8Array, void>): Promise<void> => {
    const { start, end } = map.range(part);
    const until = performance.now() + (sink.partBytes === 1 ? options.saveEveryMs : SLOW_STRETCH_MS);
    let received = 0;
    const stretch = async function* () {
      while (received < end - start + 1 && (received === 0 || performance.now() < until)) {
        const { value } = await range.next();
        if (!value) return;
        received += value.byteLength;
        options.onBytes(value.byteLength);
        yield value;
      }
    };
    try {
      await sink.write(start, stretch(), signal);
    } catch (error) {
      options.onBytes(-received);
      throw error;
    }
    map.advance(part, received);
    save.later();
  };
  const work = async (): Promise<void> => {
    workers += 1;
    try {
      for (let part = take(); part !== undefined; part = take()) {
        try {
          await fetchPart(part);
        } catch (error) {
          if (workers === 1 || !isTooMany(error)) throw error;
          // The others go on, and take this part when one of them is free.
          returned.push(part);
          return;
        }
      }
    } catch (error) {
      failed.abort(error);
      throw error;
    } finally {
      workers -= 1;
    }
  };

  const count = Math.min(options.connections, map.count);
  const results = await Promise.allSettled(Array.from({ length: count }, work));
  if (!opened?.complete) opened?.destroy();
  const reason = options.signal.aborted ? options.signal.reason : failed.signal.reason;
  const failure = results.find((result) => result.status === 'rejected');
  if (!failure) return save.now();
  // What is there already must not be fetched again, whatever went wrong.
  await save.now().catch(() => undefined);
  throw reason ?? failure.reason;
}

interface RangeRequest {
  /** The last address at which the source was found. All ranges of the source share it. */
  readonly where: { url: URL };
  readonly sizeBytes: number;
  readonly start: number;
  readonly end: number;
  /** An answer that is open at `start` already. */
  readonly first: Answer | undefined;
  readonly isCrowded: () => boolean;
}

/** The bytes [start, end], continued where a connection broke. */
async function* rangeContent(options: TransferOptions, range: RangeRequest): AsyncGenerator<Uint8Array, void, void> {
  const { network, source, origin, signal, stallMs, limits } = options;
  const { where, sizeBytes, start, end } = range;
  let at = start;
  let response = range.first;
  for (let failures = 0; ; ) {
    try {
      response ??= await openRange(network, { url: where.url, sizeBytes, validator: source.validator }, at, end, signal);
      for await (const chunk of readBody(response, end - at + 1, { signal, stallMs, limits })) {
        at += chunk.byteLength;
        failures = 0;
        yield chunk;
      }
      return;
    } catch (error) {
      response = undefined;
      const status = statusOf(error);
      if (EXPIRED.has(status) && where.url.href !== origin.href) {
        where.url = origin;
        continue;
      }
      failures += 1;
      if (!isPassing(error) || failures > MAX_FAILURES || (CROWDED.has(status) && range.isCrowded())) throw error;
      await delay(FIRST_WAIT_MS * 2 ** (failures - 1), undefined, { signal });
    }
  }
}

/** Saves the part map while the transfer goes on, one save at a time. */
function createSaver(options: TransferOptions, map: PartMap) {
  let savedAt = performance.now();
  let saving: Promise<void> | undefined;
  const save = async () => {
    const state = map.save();
    await options.sink.sync();
    await options.onSave(state);
  };
  return {
    later() {
      if (saving || performance.now() - savedAt < options.saveEveryMs) return;
      // A save that fails is tried again with the next part, and at the end for good.
      saving = save()
        .catch(() => undefined)
        .finally(() => {
          savedAt = performance.now();
          saving = undefined;
        });
    },
    async now() {
      await saving;
      await save();
    },
  };
}

/** Whether the same call may succeed later. */
export function isPassing(error: unknown): boolean {
  return AppError.is(error) && ERROR_CODES[error.code].retry === 'after-backoff';
}

function isTooMany(error: unknown): boolean {
  return AppError.is(error) && (error.code === 'STORAGE_UNAVAILABLE' || CROWDED.has(statusOf(error)));
}

function statusOf(error: unknown): number {
  return AppError.is(error) ? Number(error.details.status ?? 0) : 0;
}

export function tooBig(maxBytes: number): AppError {
  return new AppError('QUOTA_EXCEEDED', `the file is bigger than the limit of ${maxBytes} bytes`);
}
