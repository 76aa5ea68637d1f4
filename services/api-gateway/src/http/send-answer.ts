import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import type { Envelope } from '@wharf/service-kit';
import { drainBody } from './read-body.ts';

/** Writes an envelope; its HTTP status is 200 whatever its code. */
export function sendEnvelope(response: ServerResponse, envelope: Envelope): void {
  sendJson(response, JSON.stringify(envelope));
}

export function sendJson(response: ServerResponse, json: string): void {
  response.writeHead(200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(json),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  finish(response, json);
}

export function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'X-Content-Type-Options': 'nosniff',
  });
  finish(response, text);
}

/** How long a client may go on sending after its refusal, in milliseconds. Closing sooner could take the answer from it. */
const LINGER_MS = 10_000;

/**
 * Makes sure that a refusal will be read: a client that still sends reads nothing. What is left of the body is read away up to a bound;
 * beyond it the answer is sent all the same.
 *
 * @returns false when the client went away: there is nobody to answer.
 */
export async function beforeRefusal(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  try {
    await drainBody(request);
    return !response.headersSent && !response.destroyed;
  } catch (error) {
    if (AppError.is(error, 'CANCELLED')) return false;
    throw error;
  }
}

/** Sends a whole body. While the client is still sending, the connection stays open for as long as it takes, or LINGER_MS. */
function finish(response: ServerResponse, body: string): void {
  const request = response.req;
  if (request.complete || request.destroyed) return void response.end(body);
  response.write(body);
  const limit = setTimeout(() => request.destroy(), LINGER_MS);
  request.once('close', () => clearTimeout(limit));
  request.once('end', () => response.end()).resume();
}
