import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import { drained } from '@wharf/pace';
import { beginJson, endWhenIdle } from '@wharf/service-kit';
import type { JsonPiece } from '../api/route.ts';
import { drainBody } from './read-body.ts';

/** A client that takes nothing of an answer for so long is cut off, in milliseconds. */
export const STALL_MS = 60_000;

/** A shorter answer goes to the connection in one piece, in bytes: each piece costs more than to copy it. */
const MIN_PIECES_BYTES = 64 * 1024;

/** Sends a text, or its bytes, as JSON, with HTTP status 200. The envelope in the text has the code. */
export function sendJson(response: ServerResponse, json: JsonPiece): void {
  begin(response, Buffer.byteLength(json));
  finish(response, json);
}

/** The same for a text in pieces, which go out as the client takes them. Resolves when all are on their way, or the client is gone. */
export async function sendPieces(response: ServerResponse, pieces: readonly JsonPiece[], stallMs = STALL_MS): Promise<void> {
  const lengthBytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  begin(response, lengthBytes, stallMs);
  if (lengthBytes < MIN_PIECES_BYTES) return finish(response, joined(pieces, lengthBytes));
  for (const piece of pieces.slice(0, -1)) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
  }
  if (!response.destroyed) finish(response, pieces.at(-1) ?? '');
}

function joined(pieces: readonly JsonPiece[], lengthBytes: number): JsonPiece {
  const [only = ''] = pieces;
  if (pieces.length <= 1) return only;
  const whole = Buffer.allocUnsafe(lengthBytes);
  let at = 0;
  for (const piece of pieces) {
    if (typeof piece === 'string') at += whole.write(piece, at);
    else {
      whole.set(piece, at);
      at += piece.length;
    }
  }
  return whole;
}

function begin(response: ServerResponse, lengthBytes: number, stallMs = STALL_MS): void {
  endWhenIdle(response, false, stallMs);
  beginJson(response, lengthBytes);
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
 * Makes sure that a client can read a refusal. A client that still sends reads nothing, so the rest of the body is read and dropped, up to
 * a bound. Beyond the bound the answer is sent anyway.
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
function finish(response: ServerResponse, body: JsonPiece): void {
  const request = response.req;
  if (request.complete || request.destroyed) return void response.end(body);
  response.write(body);
  const limit = setTimeout(() => request.destroy(), LINGER_MS);
  request.once('close', () => clearTimeout(limit));
  request.once('end', () => response.end()).resume();
}
