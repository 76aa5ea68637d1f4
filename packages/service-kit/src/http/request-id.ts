import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TrustedProxies } from './client-address.ts';

const SANE_ID = /^[\w.:-]{8,128}$/;

/** The id of a client's request: what a trusted proxy calls it, else a new one. */
export function requestIdOf(request: IncomingMessage, proxies: TrustedProxies): string {
  const told = request.headers['x-request-id'];
  return typeof told === 'string' && SANE_ID.test(told) && proxies.isFromProxy(request) ? told : randomUUID();
}
