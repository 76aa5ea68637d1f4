import type { IncomingHttpHeaders } from 'node:http';
import type { Answer, GuardedClient } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { brokenBound, createFairPlaces, createKeyedTurns, gatherBytes, ownerNow, unlessAborted } from '@wharf/pace';

export interface ToolRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** For the whole exchange, once it has begun; default 4,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface ToolAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/**
 * One HTTP request to a tool. Redirects are not followed: they are answers like any other.
 *
 * @throws AppError STORAGE_UNAVAILABLE: it cannot be reached, or what stands before it says so | DEADLINE_EXCEEDED | CANCELLED | PERMISSION_DENIED: an address that must not
 * be reached | CONTENT_CORRUPT: the answer is longer, deeper or of more values than any of a tool
 */
export type AskTool = (url: URL, request: ToolRequest) => Promise<ToolAnswer>;

const TIMEOUT_MS = 4_000;
/** No tool answers so: what stands before it does while the tool starts, or is busy. */
const AWAY = new Set([502, 503, 504]);
/** What one tool is asked at a time. The rest waits, and its time does not pass: a tool that takes a second for each answer fails no download by that. */
export const ASKED_AT_A_TIME = 8;
/** Tools are asked for one download at a time; old versions answer with all they have. Parsing so much takes 20 to 100 ms. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** A download has about 50 values. All tools answer in JSON, or in a word. */
const ANSWER_BOUNDS = { maxDepth: 64, maxValues: 100_000 } as const;
/** An answer of one download has a few KiB. Longer ones are read one at a time of each tool: one that stands still in its own keeps no other tool waiting. */
const SHORT_BYTES = 32 * 1024;
/** They are parsed one at a time, which cannot be divided, and the next one waits a millisecond for so many bytes: a few times what the dearest ones take. */
const REST_BYTES_PER_MS = 16 * 1024;

/** The turns of a long answer. Each waits until the signal is aborted, and is over when what it answers is called. */
interface LongTurns {
  toRead(signal: AbortSignal): Promise<() => void>;
  /** When all of it has come: nobody waits for a tool meanwhile. */
  toParse(signal: AbortSignal): Promise<() => void>;
}

/** @param client with the policy for addresses from the admin. */
export function createAskTool(client: GuardedClient): AskTool {
  const [inPlace, reading, parsing] = [createToolPlaces(), createKeyedTurns<string>(), createFairPlaces(1)];
  const exchange: AskTool = async (url, { timeoutMs = TIMEOUT_MS, signal: caller, ...asked }) => {
    const time = createTimeLimit(timeoutMs);
    const signal = caller ? AbortSignal.any([time.signal, caller]) : time.signal;
    try {
      const answer = await client.request({ ...asked, url, signal });
      if (AWAY.has(answer.statusCode ?? 0)) {
        answer.destroy();
        throw new AppError('STORAGE_UNAVAILABLE', `${url.host} answers with ${answer.statusCode}`);
      }
      return await readAnswer(answer, signal, {
        toRead: (aborted) => time.standStill(takeTurn(reading, url.host, aborted)),
        toParse: (aborted) => time.standStill(takeTurn(parsing, url.host, aborted)),
      });
    } catch (error) {
      if (AppError.is(error, 'PERMISSION_DENIED'))
        throw new AppError('PERMISSION_DENIED', 'this address must not be reached: link-local, metadata, or our own store or bus', {
          cause: error,
        });
      if (AppError.is(error) && error.code !== 'CANCELLED') throw error;
      if (time.signal.aborted) throw new AppError('DEADLINE_EXCEEDED', `no answer within ${timeoutMs / 1000} s`, { cause: error });
      if (signal.aborted) throw new AppError('CANCELLED', 'the caller went away', { cause: error });
      throw new AppError('STORAGE_UNAVAILABLE', `${url.host} closed the connection`, { cause: error });
    } finally {
      time.end();
    }
  };
  return (url, request) =>
    inPlace(url.host, () => exchange(url, request), request.signal).catch((error) => {
      throw AppError.is(error) ? error : new AppError('CANCELLED', 'the caller went away', { cause: error });
    });
}

/** The places of each tool, by its host, which its callers have in turns. None are kept of one that is asked for nothing. */
function createToolPlaces() {
  const tools = new Map<string, { readonly places: ReturnType<typeof createFairPlaces>; asking: number }>();
  return async <Result>(host: string, work: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> => {
    const tool = tools.get(host) ?? { places: createFairPlaces(ASKED_AT_A_TIME), asking: 0 };
    tools.set(host, tool);
    tool.asking += 1;
    try {
      return await tool.places(ownerNow(), work, signal);
    } finally {
      tool.asking -= 1;
      if (tool.asking === 0) tools.delete(host);
    }
  };
}

/** The time of an exchange, which does not pass while we let the tool wait. */
function createTimeLimit(ms: number) {
  const over = new AbortController();
  const begin = () => setTimeout(() => over.abort(), ms).unref();
  let timer = begin();
  return {
    signal: over.signal,
    async standStill<Result>(wait: Promise<Result>): Promise<Result> {
      clearTimeout(timer);
      const result = await wait;
      timer = begin();
      return result;
    },
    end: () => clearTimeout(timer),
  };
}

/** Waits for a turn of a tool. @returns gives it back. @throws the reason of the signal */
async function takeTurn(
  inTurn: (host: string, work: () => Promise<void>) => Promise<void>,
  host: string,
  signal: AbortSignal,
): Promise<() => void> {
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  void inTurn(host, () => {
    begun.resolve();
    return over.promise;
  });
  try {
    await unlessAborted(signal, begun.promise);
    return over.resolve;
  } catch (error) {
    over.resolve();
    throw error;
  }
}

/** @param turns of more than a short answer; the last one is over when whoever asked has parsed it */
async function readAnswer(message: Answer, signal: AbortSignal, turns: LongTurns): Promise<ToolAnswer> {
  const stop = () => message.destroy();
  signal.addEventListener('abort', stop, { once: true });
  let endReading: (() => void) | undefined;
  let endParsing: (() => void) | undefined;
  let length = 0;
  try {
    const gathered = gatherBytes(MAX_ANSWER_BYTES);
    for await (const chunk of message) {
      length += chunk.byteLength;
      if (length > MAX_ANSWER_BYTES) throw new AppError('CONTENT_CORRUPT', 'the answer is too long');
      gathered.add(chunk);
      if (length > SHORT_BYTES) endReading ??= await turns.toRead(signal);
    }
    if (endReading) endParsing = await turns.toParse(signal);
    const body = gathered.whole();
    if (brokenBound(body, ANSWER_BOUNDS)) throw new AppError('CONTENT_CORRUPT', 'the answer is too deep, or has too many values');
    return { status: message.statusCode ?? 0, headers: message.headers, body: body.toString('utf8') };
  } finally {
    signal.removeEventListener('abort', stop);
    message.destroy();
    endReading?.();
    if (endParsing) setTimeout(endParsing, length / REST_BYTES_PER_MS).unref();
  }
}
