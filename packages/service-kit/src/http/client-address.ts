import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4 } from 'node:net';
import type { Call } from '../rpc/call.ts';
import { hopsOf } from '../rpc/hops.ts';

/** Which peers may say, by forwarding headers, on whose behalf they send a request. */
export interface TrustedProxies {
  /** True for the address of a trusted proxy, as a socket tells it. */
  isProxy(peer: string): boolean;
  /** True when the request's peer is a trusted proxy, whose headers are believed. */
  isFromProxy(request: IncomingMessage): boolean;
  /**
   * The client's address: that of the connection or, behind trusted proxies, the right-most hop of X-Forwarded-For that is not one of
   * them. Hops left of it were written by the client itself and prove nothing.
   */
  clientAddress(request: IncomingMessage): string;
}

/** So much of what a client calls itself is told, in characters: browsers take some 150. */
const MAX_AGENT = 500;

/** As the IETF's draft has it, a text in quotes; quotes may be absent. One that anybody could guess, or that is long, is none. */
const ONCE_KEY = /^"?([\w.:-]{16,128})"?$/;

/** What services are told of the client behind a request. */
export function clientOf(
  proxies: TrustedProxies,
  request: IncomingMessage,
): Pick<Call, 'agent' | 'hops' | 'isFromProxy' | 'onceKey'> & { readonly address: string } {
  const agent = request.headers['user-agent']?.slice(0, MAX_AGENT);
  const hops = hopsOf(request);
  const [, onceKey] = ONCE_KEY.exec(String(request.headers['idempotency-key'] ?? '')) ?? [];
  return {
    address: proxies.clientAddress(request),
    ...(agent && { agent }),
    ...(hops.length > 0 && { hops }),
    ...(onceKey !== undefined && { onceKey }),
    ...(proxies.isFromProxy(request) && { isFromProxy: true }),
  };
}

/** @param ranges addresses and CIDRs. @throws Error when one is neither */
export function createTrustedProxies(ranges: readonly string[]): TrustedProxies {
  const trusted = new BlockList();
  for (const range of ranges) addRange(trusted, range);
  const isTrusted = (address: string) => isIP(address) !== 0 && trusted.check(address, familyOf(address));
  const isProxy = (peer: string) => ranges.length > 0 && isTrusted(addressOf(peer));
  const isFromProxy = (request: IncomingMessage) => isProxy(request.socket.remoteAddress ?? '');
  return {
    isProxy,
    isFromProxy,
    clientAddress(request) {
      let address = peerAddress(request);
      if (!isFromProxy(request)) return address;
      const hops = String(request.headers['x-forwarded-for'] ?? '').split(',');
      for (const hop of hops.reverse()) {
        const claimed = addressOf(hop.trim());
        if (isIP(claimed) === 0) break;
        address = claimed;
        if (!isTrusted(address)) break;
      }
      return address;
    },
  };
}

/** Adds an address or a CIDR to a list. @throws Error when the text is neither */
export function addRange(list: BlockList, text: string): void {
  const [address = '', prefix] = text.split('/');
  if (prefix === undefined) list.addAddress(address, familyOf(address));
  else if (/^\d{1,3}$/.test(prefix)) list.addSubnet(address, Number(prefix), familyOf(address));
  else throw new Error(`not a prefix length: ${prefix}`);
}

const familyOf = (address: string) => (isIPv4(address) ? 'ipv4' : 'ipv6');
const peerAddress = (request: IncomingMessage) => addressOf(request.socket.remoteAddress ?? '');

/** An address without port and brackets; an IPv4 address inside IPv6 is shown as what it is. */
function addressOf(text: string): string {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return /^::ffff:([\d.]+)$/i.exec(bare)?.[1] ?? bare;
}
