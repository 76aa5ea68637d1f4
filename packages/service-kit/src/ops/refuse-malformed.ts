import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError } from '@wharf/errors';
import { failureEnvelope } from '../http/envelope.ts';
import { ERROR_NAME_HEADER } from '../http/error-name.ts';

/** How long a refused client that still sends is read from, in milliseconds. Otherwise it could not read the answer. */
const LINGER_MS = 1_000;

const REFUSALS: Readonly<Record<string, { status: string; message: string }>> = {
  HPE_HEADER_OVERFLOW: { status: '431 Request Header Fields Too Large', message: 'the headers of the request are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', message: 'the request did not come in time' },
};
const NOT_HTTP = { status: '400 Bad Request', message: 'this is no HTTP request' };

/**
 * Answers what the HTTP parser refuses. Which route was meant is not known, so the answer has a status of its own and an envelope as its
 * body. What is refused behind a whole request is none of it: that one has its own answer, and the connection ends with it. A listener for `clientError` of
 * a server.
 */
export function refuseMalformed(error: Error & { code?: string }, socket: Duplex): void {
  const answer = answerOn(socket);
  if (error.code === 'ECONNRESET' || !socket.writable || answer?.headersSent) return void socket.destroy();
  if (answer?.req.complete) {
    answer.shouldKeepAlive = false;
    return void socket.pause();
  }
  const { status, message } = REFUSALS[error.code ?? ''] ?? NOT_HTTP;
  const body = JSON.stringify(failureEnvelope(new AppError('INVALID_ARGUMENT', message)));
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'X-Content-Type-Options: nosniff',
    `${ERROR_NAME_HEADER}: INVALID_ARGUMENT`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.resume();
  const limit = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(limit));
}

/** The answer that another one must not be put into, if there is one. */
function answerOn(socket: Duplex): ServerResponse | undefined {
  const answer: unknown = Reflect.get(socket, '_httpMessage');
  return typeof answer === 'object' && answer !== null ? (answer as ServerResponse) : undefined;
}
