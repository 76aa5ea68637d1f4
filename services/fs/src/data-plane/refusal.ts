import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import { type AppError, ERROR_CODES } from '@wharf/errors';
import {
  beginJson,
  createPrivacyMask,
  type Envelope,
  type EnvelopeCodes,
  ERROR_NAME_HEADER,
  failureEnvelope,
  nameError,
  sayWhenToComeAgain,
} from '@wharf/service-kit';
import type { FsContext } from '../context.ts';

/** A refused upload's body is read on for this long, in milliseconds: most clients read an answer only when they could send everything. */
const DRAIN_MS = 30_000;
/** Remembers what the patterns compile to. */
const privacyMask = createPrivacyMask();

/** Answers a failed upload with its envelope, after what the client still sends was read and thrown away. @param codes of the route alone. @param data what the route promises with a failure */
export async function refuseUpload(
  context: FsContext,
  request: IncomingMessage,
  response: ServerResponse,
  error: AppError,
  { codes, data }: { codes: EnvelopeCodes; data?: unknown },
): Promise<void> {
  if (response.headersSent) return void response.destroy();
  const patterns = await privacyPatterns(context);
  const envelope = failureEnvelope(error, { codes, data, mask: (message) => privacyMask(patterns, message) });
  await drain(request);
  if (response.destroyed) return;
  if (!request.complete) response.setHeader('Connection', 'close');
  nameError(response, error);
  sayWhenToComeAgain(response, error);
  sendEnvelope(response, envelope);
}

/** Reads what still comes of a body, and throws it away. Resolves when it has ended, when the client is gone, or at the end of the signal: when it takes too long. */
export async function drain(request: IncomingMessage, signal: AbortSignal = AbortSignal.timeout(DRAIN_MS)): Promise<void> {
  if (request.complete || request.destroyed) return;
  request.resume();
  await finished(request, { writable: false, signal }).catch(() => undefined);
}

async function privacyPatterns(context: FsContext): Promise<string> {
  try {
    return (await context.configuration.knownSnapshot({ auth: 0, admin: 0 })).settings.text('privacy_regs');
  } catch {
    // Without patterns the answer still goes out. Our own messages contain no addresses that need a mask.
    return '';
  }
}

/** For a request whose body was read, or will be no more. */
export function sendEnvelope(response: ServerResponse, envelope: Envelope): void {
  const body = Buffer.from(JSON.stringify(envelope));
  beginJson(response, body.length);
  response.end(body);
}

/** Answers a failed download with a real status and a line of text. @param status the one of the error, where none is given */
export function refuseDownload(
  request: IncomingMessage,
  response: ServerResponse,
  error: AppError,
  status: number = ERROR_CODES[error.code].http,
): void {
  if (response.headersSent) return void response.destroy();
  const text = error.code === 'INTERNAL' ? 'internal error' : error.message;
  const body = Buffer.from(`${text}\n`);
  nameError(response, error);
  sayWhenToComeAgain(response, error);
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': body.length,
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': ERROR_NAME_HEADER,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}
