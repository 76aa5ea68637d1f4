import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { TrustedProxies } from './client-address.ts';

/** A host name or address with an optional port, and nothing that could be a path, a user or another header. */
const HOST = /^(?:[a-z0-9](?:[a-z0-9._-]{0,253})|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

/**
 * The beginning of absolute addresses in an answer, without a slash at the end.
 *
 * Without a configured address it is the one that the client used: a trusted proxy may tell scheme and host by X-Forwarded-Proto and
 * X-Forwarded-Host, of which the value nearest to us counts. A Host header that cannot be a host is not repeated; the address of the
 * connection takes its place.
 */
export function siteUrlOf(request: IncomingMessage, configured: string | undefined, proxies: TrustedProxies): string {
  if (configured !== undefined) return configured;
  const isProxied = proxies.isFromProxy(request);
  const forwarded = (name: string) => (isProxied ? String(request.headers[name] ?? '') : '').split(',').at(-1)?.trim() ?? '';
  const told = forwarded('x-forwarded-proto').toLowerCase();
  const scheme = told === 'http' || told === 'https' ? told : request.socket instanceof TLSSocket ? 'https' : 'http';
  const host = [forwarded('x-forwarded-host'), request.headers.host ?? ''].find((candidate) => HOST.test(candidate));
  return `${scheme}://${host ?? localHost(request)}`;
}

function localHost(request: IncomingMessage): string {
  const { localAddress = '127.0.0.1', localPort = 80 } = request.socket;
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}
