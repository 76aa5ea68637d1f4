import dns from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { AppError } from '@wharf/errors';
import { type AddressKind, carriedIpv4, contains, kindOfAddress, parseAddress, parseBlock } from './ip-address.ts';
import { createFairLookups, type LookUp } from './name-lookups.ts';

/** Who entered an address. An address from the admin (a storage, a tool) may be private, an address from a user may not. */
export type Audience = 'user' | 'admin';

/** A place that nobody may be sent to: the store, the bus, our own ports. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export interface EgressOptions {
  /** Hosts, addresses and CIDRs that may be reached although they are private (`WHARF_EGRESS_ALLOW`). */
  readonly allow: readonly string[];
  /** Never reached, whatever `allow` says. */
  readonly forbidden: readonly Endpoint[];
  readonly audience: Audience;
  /** Every address of a name; the system's resolver by default. */
  readonly resolve?: LookUp;
  /** The networks that this machine is in, as CIDRs, its own addresses included; those of its interfaces by default. */
  readonly networks?: () => readonly string[];
}

/** Decides where outgoing connections may go. The decision is about the address that is connected to, at the moment it is connected to. */
export interface EgressPolicy {
  /**
   * Reads an address that is about to be fetched.
   * @throws AppError UNSUPPORTED_OPERATION (not http or https) | INVALID_ARGUMENT (no URL) | PERMISSION_DENIED (refused as it stands; a name may
   * still be refused by {@link resolve})
   */
  parseUrl(text: string, base?: URL): URL;
  /**
   * The addresses of a host that may be connected to on this port, at least one.
   * @throws AppError PERMISSION_DENIED | STORAGE_UNAVAILABLE (the name does not resolve)
   */
  resolve(host: string, port: number): Promise<string[]>;
  /**
   * For `net.connect` and everything built on it. The addresses that it answers are those that are connected to: the name server is asked
   * only once.
   */
  lookupFor(port: number): LookupFunction;
  /** The same for addresses of one user: names that users enter are looked up in turns, so that those of one hold up no others. */
  forOwner(owner: string): EgressPolicy;
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** Addresses by which clouds hand out credentials (Alibaba, AWS, Oracle, Google, Scaleway, Azure); 169.254.169.254 is link-local anyway. */
const METADATA = [
  ...['100.100.100.200', '192.0.0.192', '168.63.129.16'],
  ...['fd00:ec2::254', 'fd00:c1::a9fe:a9fe', 'fd20:ce::254', 'fd00:42::42'],
].flatMap((text) => parseBlock(text) ?? []);

/** So many addresses of a name are looked at: whoever has a name server can give it thousands, and each costs up to a millisecond. */
const MAX_ADDRESSES = 16;

/** Ranges that the admin may name: servers beside us, but never the configuration services of a cloud. */
const ADMIN_KINDS: ReadonlySet<AddressKind> = new Set(['public', 'private', 'loopback']);

export function createEgressPolicy(options: EgressOptions): EgressPolicy {
  const resolveName = options.resolve ?? systemAddresses;
  if (options.audience === 'admin') return createPolicy(options, resolveName, () => resolveName);
  const lookUp = options.resolve ? createFairLookups(options.resolve) : systemLookups;
  return createPolicy(options, resolveName, (owner) => (host) => lookUp(owner, host));
}

/** @param resolveName for names of our own. @param lookUpOf for the others, of an owner */
function createPolicy(options: EgressOptions, resolveName: LookUp, lookUpOf: (owner: string) => LookUp, owner = ''): EgressPolicy {
  const lookUp = lookUpOf(owner);
  const blocks = options.allow.flatMap((text) => parseBlock(text) ?? []);
  const hosts = new Set(options.allow.filter((text) => !parseBlock(text)).map(normalHost));
  const networks = options.networks ?? ownNetworks;

  const isAllowedBlock = (address: readonly number[]): boolean => {
    const carried = carriedIpv4(address);
    return blocks.some((block) => contains(block, address) || (carried !== undefined && contains(block, carried)));
  };
  const isReachable = (host: string, address: readonly number[]): boolean => {
    const kind = kindOfAddress(address);
    if (kind === 'unspecified') return false;
    if (hosts.has(host) || isAllowedBlock(address)) return true;
    if (METADATA.some((block) => contains(block, carriedIpv4(address) ?? address))) return false;
    if (options.audience === 'admin') return ADMIN_KINDS.has(kind);
    // What is beside us may have a public address, too, as with IPv6, and is reached from here behind every firewall.
    return kind === 'public' && !networks().some((text) => isIn(text, carriedIpv4(address) ?? address));
  };
  /** Asked again each time: the store may have moved. */
  const isForbidden = async (address: string, port: number): Promise<boolean> => {
    for (const endpoint of options.forbidden) {
      if (endpoint.port !== port) continue;
      const own = await addressesOf(normalHost(endpoint.host), resolveName).catch(() => []);
      if (own.some((text) => isSamePlace(text, address))) return true;
    }
    return false;
  };
  const refuse = (host: string) =>
    new AppError('PERMISSION_DENIED', `the address of ${host} is not allowed: it is not on the public Internet (an admin can allow it)`);

  const resolve = async (rawHost: string, port: number): Promise<string[]> => {
    const host = normalHost(rawHost);
    const reachable: string[] = [];
    for (const text of (await addressesOf(host, lookUp)).slice(0, MAX_ADDRESSES)) {
      const bytes = parseAddress(text);
      if (bytes && isReachable(host, bytes) && !(await isForbidden(text, port))) reachable.push(text);
    }
    if (reachable.length === 0) throw refuse(host);
    return reachable;
  };

  return {
    parseUrl(text, base) {
      const url = URL.parse(text.trim(), base?.href);
      if (!url) throw new AppError('INVALID_ARGUMENT', 'this is not an address that can be fetched');
      if (!(url.protocol in DEFAULT_PORTS))
        throw new AppError('UNSUPPORTED_OPERATION', `only http and https addresses can be fetched, not ${url.protocol.slice(0, -1)}`);
      const host = normalHost(url.hostname);
      const bytes = parseAddress(host);
      if (host === '' || (bytes && !isReachable(host, bytes)) || (!bytes && isLoopbackName(host) && !hosts.has(host) && !blocks.length))
        throw refuse(host);
      return url;
    },
    resolve,
    forOwner: (other) => createPolicy(options, resolveName, lookUpOf, other),
    lookupFor: (port) => (hostname, lookup, callback) => {
      resolve(hostname, port).then(
        (addresses) => {
          const wanted =
            lookup.family === 4 || lookup.family === 6 ? addresses.filter((text) => familyOf(text) === lookup.family) : addresses;
          const found = (wanted.length > 0 ? wanted : addresses).map((address) => ({ address, family: familyOf(address) }));
          const [first] = found;
          if (lookup.all) callback(null, found);
          else if (first) callback(null, first.address, first.family);
        },
        (error: Error) => callback(error, ''),
      );
    },
  };
}

/** The host of a URL as sockets want it: an IPv6 address without its brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

/** The port that a URL means. */
export function portOf(url: URL): number {
  return url.port === '' ? (DEFAULT_PORTS[url.protocol] ?? 0) : Number(url.port);
}

function normalHost(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}

function isLoopbackName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

function familyOf(address: string): 4 | 6 {
  return address.includes(':') ? 6 : 4;
}

/** @param own may be one that means all addresses of this machine */
function isSamePlace(own: string, address: string): boolean {
  const a = parseAddress(own);
  const b = parseAddress(address);
  if (!a || !b) return false;
  const plainA = carriedIpv4(a) ?? a;
  const plainB = carriedIpv4(b) ?? b;
  // Every address of this machine leads to a port that is bound to all of them.
  if (isLocal(plainA) && isLocal(plainB)) return true;
  if (kindOfAddress(plainA) === 'unspecified' && isOfThisMachine(plainB)) return true;
  return plainA.length === plainB.length && plainA.every((byte, index) => byte === plainB[index]);
}

/** How long the networks of this machine are known, in milliseconds: a machine of many containers takes some to tell them. */
const NETWORKS_MS = 1_000;
let known: { readonly networks: readonly string[]; readonly untilMs: number } | undefined;

function ownNetworks(): readonly string[] {
  const nowMs = performance.now();
  if (known && nowMs < known.untilMs) return known.networks;
  const networks = Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map(({ address, cidr }) => cidr ?? address));
  known = { networks, untilMs: nowMs + NETWORKS_MS };
  return networks;
}

function isIn(network: string, address: readonly number[]): boolean {
  const block = parseBlock(network);
  return block !== undefined && contains(block, address);
}

function isOfThisMachine(bytes: readonly number[]): boolean {
  const found = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return found.some(({ address }) => {
    const one = parseAddress(address);
    return one?.length === bytes.length && one.every((byte, index) => byte === bytes[index]);
  });
}

function isLocal(bytes: readonly number[]): boolean {
  const kind = kindOfAddress(bytes);
  return kind === 'loopback' || kind === 'unspecified';
}

async function addressesOf(host: string, resolveName: LookUp): Promise<readonly string[]> {
  if (parseAddress(host)) return [host];
  try {
    return await resolveName(host);
  } catch (cause) {
    if (AppError.is(cause)) throw cause;
    // A name that is not there will not be there in a moment; a name server that does not answer may.
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOTFOUND';
    throw new AppError(isMissing ? 'FAILED_PRECONDITION' : 'STORAGE_UNAVAILABLE', `the name ${host} cannot be resolved`, { cause });
  }
}

async function systemAddresses(host: string): Promise<string[]> {
  return (await dns.lookup(host, { all: true, verbatim: true })).map(({ address }) => address);
}

/** The threads that look names up are those of the process, whoever has a policy. */
const systemLookups = createFairLookups(systemAddresses);
