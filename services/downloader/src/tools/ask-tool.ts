import type { IncomingHttpHeaders } from 'node:http';
import type { Answer, GuardedClient } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { brokenBound } from '@wharf/pace';

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
/** Tools are asked for one download at a time; old versions answer with all they have. Reading so much takes some 20 ms. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** A download has about 50 values. All tools answer in JSON, or in a word. */
const ANSWER_BOUNDS = { maxDepth: 64, maxValues: 100_000 } as const;

/** @param client with the policy for addresses from the admin. */
export function createAskTool(client: GuardedClient): AskTool {
  return async (url, { timeoutMs = TIMEOUT_MS, signal: caller, ...asked }) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = caller ? AbortSignal.any([timeout, caller]) : timeout;
    try {
      const answer = await client.request({ ...asked, url, signal });
      return await readAnswer(answer, signal);
    } catch (error) {
      if (AppError.is(error, 'PERMISSION_DENIED'))
        throw new AppError('PERMISSION_DENIED', 'this address must not be reached: link-local, metadata, or our own store or bus', {
          cause: error,
        });
      if (AppError.is(error) && error.code !== 'CANCELLED') throw error;
      if (timeout.aborted) throw new AppError('DEADLINE_EXCEEDED', `no answer within ${timeoutMs / 1000} s`, { cause: error });
      if (signal.aborted) throw new AppError('CANCELLED', 'the caller went away', { cause: error });
      throw new AppError('STORAGE_UNAVAILABLE', `${url.host} closed the connection`, { cause: error });
    }
  };
}

async function readAnswer(message: Answer, signal: AbortSignal): Promise<ToolAnswer> {
  const stop = () => message.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of message) {
      if (!Buffer.isBuffer(chunk)) continue;
      length += chunk.length;
      if (length > MAX_ANSWER_BYTES) throw new AppError('CONTENT_CORRUPT', 'the answer is too long');
      chunks.push(chunk);
    }
    const body = Buffer.concat(chunks);
    if (brokenBound(body, ANSWER_BOUNDS)) throw new AppError('CONTENT_CORRUPT', 'the answer is too deep, or has too many values');
    return { status: message.statusCode ?? 0, headers: message.headers, body: body.toString('utf8') };
  } finally {
    signal.removeEventListener('abort', stop);
    message.destroy();
  }
}
