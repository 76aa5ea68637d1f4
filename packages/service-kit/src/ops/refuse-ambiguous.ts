import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import { failureEnvelope } from '../http/envelope.ts';
import { nameError } from '../http/error-name.ts';

/** RFC 3986, section 3.2: a name or an address, with a port. It may be empty. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/** Earlier versions need no Host, and expect nothing. */
const HTTP_1_1 = '1.1';
/** As Node looks for it, which has answered it by then. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** Connections whose end has been decided: what comes on them may be a part of the refused request. */
const REFUSED = new WeakSet<IncomingMessage['socket']>();

/**
 * Answers what the HTTP parser takes and others on the way may read in another way: it says more than one host, or none that could be one, which servers
 * must refuse (RFC 9112, section 3.2), or its body comes in an encoding beside `chunked`, which nothing here takes off (section 6.1). So is one with more
 * headers than are read, and one that expects what nobody does (RFC 9110, section 10.1.1).
 *
 * @returns whether nobody else may answer. The connection ends with the answer, and nothing that follows on it is one more request
 */
export function refuseAmbiguous(request: IncomingMessage, response: ServerResponse, maxHeaders: number): boolean {
  if (REFUSED.has(request.socket)) return true;
  const refusal = refusalOf(request, maxHeaders);
  if (!refusal) return false;
  REFUSED.add(request.socket);
  refuse(response, refusal);
  return true;
}

interface Refusal {
  readonly status: number;
  readonly error: AppError;
}

function refusalOf(request: IncomingMessage, maxHeaders: number): Refusal | undefined {
  // Names and values in turn.
  if (request.rawHeaders.length > 2 * maxHeaders)
    return { status: 431, error: new AppError('INVALID_ARGUMENT', `a request has ${maxHeaders} headers at most`) };
  const encoding = request.headers['transfer-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'chunked') {
    return { status: 501, error: new AppError('UNSUPPORTED_OPERATION', 'a body comes as it is, or chunked') };
  }
  const { expect } = request.headers;
  if (request.httpVersion === HTTP_1_1 && expect !== undefined && !CONTINUE.test(expect))
    return { status: 417, error: new AppError('INVALID_ARGUMENT', 'nothing but 100-continue can be expected') };
  const hosts = hostsOf(request);
  const isNamed = hosts === 1 || (hosts === 0 && request.httpVersion !== HTTP_1_1);
  if (isNamed && HOST.test(request.headers.host ?? '')) return undefined;
  return { status: 400, error: new AppError('INVALID_ARGUMENT', 'this is no HTTP request: Host names one host') };
}

function hostsOf({ rawHeaders }: IncomingMessage): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
}

function refuse(response: ServerResponse, { status, error }: Refusal): void {
  const body = JSON.stringify(failureEnvelope(error));
  nameError(response, error);
  response
    .writeHead(status, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      'X-Content-Type-Options': 'nosniff',
      Connection: 'close',
    })
    .end(body);
}
