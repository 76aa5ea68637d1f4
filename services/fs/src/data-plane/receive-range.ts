import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError, ERROR_CODES } from '@wharf/errors';
import type { Call } from '@wharf/service-kit';
import type { WriteSessions } from '../domain/writes/write-sessions.ts';
import { bodyOf } from './body-of.ts';

/** What the data plane lets others do with write sessions. */
export type RangeReceiver = Pick<WriteSessions, 'writeRange' | 'writeWhole'>;

/** `PUT /internal/writes/<id>?offset=<bytes>`, or `?size=<bytes>` with digests as `&sha256=<hex>` for a file in whole. */
const ROUTE = /^\/internal\/writes\/([0-9a-f]{32})$/;

/** How long a sender whose bytes were refused may take to notice, in milliseconds. */
const LINGER_MS = 10_000;

/** The session that a request is for; undefined for any other request. */
export function writeSessionOf({ method }: IncomingMessage, path: string): string | undefined {
  return method === 'PUT' ? ROUTE.exec(path)?.[1] : undefined;
}

/** Takes bytes of a write session from one of our own services. An error is answered as `{code, message}` with its status. */
export async function receiveRange(
  writes: RangeReceiver,
  request: IncomingMessage,
  response: ServerResponse,
  { id, query, call }: { id: string; query: URLSearchParams; call: Call },
): Promise<void> {
  try {
    if (call.identity?.kind !== 'service') throw new AppError('PERMISSION_DENIED', 'this call is for services');
    const content = bodyOf(request);
    const size = query.get('size');
    if (size === null) await writes.writeRange(id, bytesOf(query.get('offset')), content, call.signal);
    else {
      const digests = Object.fromEntries([...query].filter(([name]) => name !== 'size'));
      await writes.writeWhole(id, { sizeBytes: bytesOf(size), digests }, content, call.signal);
    }
    response.writeHead(204).end();
  } catch (error) {
    if (call.signal.aborted) return void response.destroy();
    const { code, message } = AppError.from(error);
    if (code === 'INTERNAL') throw error;
    const body = JSON.stringify({ code, message });
    response.writeHead(ERROR_CODES[code].http, { 'Content-Type': 'application/json' }).end(body);
    // Closing now could take the answer from a sender that has not read it yet; the sender ends when it has.
    request.resume();
    if (!request.complete) setTimeout(() => request.destroy(), LINGER_MS).unref();
  }
}

function bytesOf(text: string | null): number {
  const bytes = Number(text);
  if (text === null || !/^\d+$/.test(text) || !Number.isSafeInteger(bytes))
    throw new AppError('INVALID_ARGUMENT', 'an offset or a size must be a number of bytes');
  return bytes;
}
