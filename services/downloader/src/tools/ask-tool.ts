import type { IncomingHttpHeaders } from 'node:http';
import type { Answer, GuardedClient } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { brokenBound, createFairPlaces } from '@wharf/pace';

export interface ToolRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** For the whole exchange; default 4,000. */
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
 * @throws AppError STORAGE_UNAVAILABLE: it cannot be reached | DEADLINE_EXCEEDED | CANCELLED | PERMISSION_DENIED: an address that must not
 * be reached | CONTENT_CORRUPT: the answer is longer, deeper or of more values than any of a tool
 */
export type AskTool = (url: URL, request: ToolRequest) => Promise<ToolAnswer>;

const TIMEOUT_MS = 4_000;
/** Tools are asked for one download at a time; old versions answer with all they have. Parsing so much takes 20 to 100 ms. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** A download has about 50 values. All tools answer in JSON, or in a word. */
const ANSWER_BOUNDS = { maxDepth: 64, maxValues: 100_000 } as const;
/** An answer of one download has a few KiB. Longer ones are taken one at a time of each tool, by turns: parsing them cannot be divided. */
const SHORT_BYTES = 32 * 1024;
/** Each with one answer: a tool that stands still in the middle of its own does not keep another one waiting. */
const TOOLS_AT_A_TIME = 2;
/** After a long answer the next one waits a millisecond for so many of its bytes: a few times what it takes to parse the dearest ones. */
const REST_BYTES_PER_MS = 16 * 1024;

/** Waits for the turn of a long answer. @param signal ends the wait. @returns gives the turn back, once it is called, after a rest for so many bytes */
type LongTurn = (signal: AbortSignal) => Promise<(bytes: number) => void>;

/** @param client with the policy for addresses from the admin. */
export function createAskTool(client: GuardedClient): AskTool {
  const inTurn = createFairPlaces(TOOLS_AT_A_TIME);
  const longTurnOf =
    (host: string): LongTurn =>
    async (signal) => {
      const begun = Promise.withResolvers<void>();
      const over = Promise.withResolvers<void>();
      const hold = async () => {
        begun.resolve();
        await over.promise;
      };
      inTurn(host, hold, signal).catch(begun.reject);
      await begun.promise;
      return (bytes) => void setTimeout(over.resolve, bytes / REST_BYTES_PER_MS).unref();
    };
  return async (url, { timeoutMs = TIMEOUT_MS, signal: caller, ...asked }) => {
    const time = createTimeLimit(timeoutMs);
    const signal = caller ? AbortSignal.any([time.signal, caller]) : time.signal;
    try {
      const answer = await client.request({ ...asked, url, signal });
      return await readAnswer(answer, signal, (aborted) => time.standStill(longTurnOf(url.host)(aborted)));
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

/** @param takeTurn is waited for before more than a short answer is read; the turn is over when whoever asked has parsed it */
async function readAnswer(message: Answer, signal: AbortSignal, takeTurn: LongTurn): Promise<ToolAnswer> {
  const stop = () => message.destroy();
  signal.addEventListener('abort', stop, { once: true });
  let giveBack: ((bytes: number) => void) | undefined;
  let length = 0;
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of message) {
      if (!Buffer.isBuffer(chunk)) continue;
      length += chunk.length;
      if (length > MAX_ANSWER_BYTES) throw new AppError('CONTENT_CORRUPT', 'the answer is too long');
      chunks.push(chunk);
      if (length > SHORT_BYTES) giveBack ??= await takeTurn(signal);
    }
    const body = Buffer.concat(chunks);
    if (brokenBound(body, ANSWER_BOUNDS)) throw new AppError('CONTENT_CORRUPT', 'the answer is too deep, or has too many values');
    return { status: message.statusCode ?? 0, headers: message.headers, body: body.toString('utf8') };
  } finally {
    signal.removeEventListener('abort', stop);
    message.destroy();
    giveBack?.(length);
  }
}
