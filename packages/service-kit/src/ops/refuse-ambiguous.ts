import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import { failureEnvelope } from '../http/envelope.ts';
import { nameError } from '../http/error-name.ts';

/** RFC 3986, section 3.2: a name or an address, with a port. It may be empty. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/** Connections whose end has been decided: what comes on them may be a part of the refused request. */
const REFUSED = new WeakSet<IncomingMessage['socket']>();

/**
 * Answers what the HTTP parser takes and others on the way may read in another way: it says more than one host, or none that could be one, which servers
 * must refuse (RFC 9112, section 3.2), or its body comes in an encoding beside `chunked`, which nothing here takes off (section 6.1).
 *
 * @returns whether nobody else may answer. The connection ends with the answer, and nothing that follows on it is one more request
 */
export function refuseAmbiguous(request: IncomingMessage, response: ServerResponse): boolean {
  if (REFUSED.has(request.socket)) return true;
  const error = ambiguityOf(request);
  if (!error) return false;
  REFUSED.add(request.socket);
  refuse(response, error);
  return true;
}

function ambiguityOf(request: IncomingMessage): AppError | undefined {
  const encoding = request.headers['transfer-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'chunked') {
    return new AppError('UNSUPPORTED_OPERATION', 'a body comes as it is, or chunked');
  }
  if (hostsOf(request) <= 1 && HOST.test(request.headers.host ?? '')) return undefined;
  return new AppError('INVALID_ARGUMENT', 'this is no HTTP request: Host names one host');
}

function hostsOf({ rawHeaders }: IncomingMessage): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
}

function refuse(response: ServerResponse, error: AppError): void {
  const body = JSON.stringify(failureEnvelope(error));
  nameError(response, error);
  response
    .writeHead(error.code === 'UNSUPPORTED_OPERATION' ? 501 : 400, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      'X-Content-Type-Options': 'nosniff',
      Connection: 'close',
    })
    .end(body);
}
