import { isIPv4, isIPv6 } from 'node:net';

/** What reaching an address means. `special` are ranges that no server on the Internet has: documentation, benchmarks, multicast, reserved. */
export type AddressKind = 'public' | 'loopback' | 'private' | 'link-local' | 'unspecified' | 'special';

interface Range {
  readonly bytes: readonly number[];
  readonly bits: number;
  readonly kind: AddressKind;
}

/** IANA's registry of special-purpose IPv4 addresses (RFC 6890 and later), with class D and E. */
const IPV4_RANGES: readonly Range[] = [
  range4('0.0.0.0', 8, 'unspecified'),
  range4('10.0.0.0', 8, 'private'),
  range4('100.64.0.0', 10, 'private'),
  range4('127.0.0.0', 8, 'loopback'),
  range4('169.254.0.0', 16, 'link-local'),
  range4('172.16.0.0', 12, 'private'),
  range4('192.0.0.0', 24, 'special'),
  range4('192.0.2.0', 24, 'special'),
  range4('192.88.99.0', 24, 'special'),
  range4('192.168.0.0', 16, 'private'),
  range4('198.18.0.0', 15, 'special'),
  range4('198.51.100.0', 24, 'special'),
  range4('203.0.113.0', 24, 'special'),
  range4('224.0.0.0', 4, 'special'),
  range4('240.0.0.0', 4, 'special'),
];

/** What lies inside 2000::/3, the only range given out for the Internet, and is not on it. */
const IPV6_RANGES: readonly Range[] = [
  range6('::', 128, 'unspecified'),
  range6('::1', 128, 'loopback'),
  range6('fc00::', 7, 'private'),
  range6('fe80::', 10, 'link-local'),
  range6('fec0::', 10, 'private'),
  range6('2001::', 23, 'special'),
  range6('2001:db8::', 32, 'special'),
  range6('3fff::', 20, 'special'),
];

const GLOBAL_UNICAST = range6('2000::', 3, 'public');

/** IPv6 ranges that carry an IPv4 address: it is that one which is reached. `at` is the index of its first byte. */
const CARRIERS: readonly { readonly range: Range; readonly at: number }[] = [
  { range: range6('::ffff:0:0', 96, 'special'), at: 12 },
  // The deprecated "IPv4-compatible" form; ::1 and :: are told apart first.
  { range: range6('::', 96, 'special'), at: 12 },
  { range: range6('64:ff9b::', 96, 'special'), at: 12 },
  { range: range6('2002::', 16, 'special'), at: 2 },
];

/** @param bytes 4 or 16 of them. */
export function kindOfAddress(bytes: readonly number[]): AddressKind {
  if (bytes.length === 4) return IPV4_RANGES.find((range) => contains(range, bytes))?.kind ?? 'public';
  const exact = IPV6_RANGES.find((range) => contains(range, bytes));
  if (exact) return exact.kind;
  const carried = carriedIpv4(bytes);
  if (carried) return kindOfAddress(carried);
  return contains(GLOBAL_UNICAST, bytes) ? 'public' : 'special';
}

/** The IPv4 address that an IPv6 one stands for; undefined when it stands for itself. */
export function carriedIpv4(bytes: readonly number[]): number[] | undefined {
  if (bytes.length !== 16) return undefined;
  const carrier = CARRIERS.find(({ range }) => contains(range, bytes));
  return carrier && bytes.slice(carrier.at, carrier.at + 4);
}

/** The bytes of an address in text; undefined for anything else, and for an IPv6 address with a zone. */
export function parseAddress(text: string): number[] | undefined {
  if (isIPv4(text)) return text.split('.').map(Number);
  if (!isIPv6(text) || text.includes('%')) return undefined;
  // The URL parser writes the dotted end of an IPv6 address as two groups.
  const [head = '', tail] = new URL(`http://[${text}]/`).hostname.slice(1, -1).split('::');
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => 0);
  return [...left, ...zeros, ...right].flatMap((group) => [group >> 8, group & 0xff]);
}

function groups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

/** A block of addresses such as `10.0.0.0/8`, or one address alone; undefined for anything else. */
export function parseBlock(text: string): { bytes: readonly number[]; bits: number } | undefined {
  const [address = '', length, ...rest] = text.split('/');
  const bytes = parseAddress(address.replace(/^\[(.*)\]$/, '$1'));
  if (!bytes || rest.length > 0) return undefined;
  const bits = length === undefined ? bytes.length * 8 : Number(length);
  if (length !== undefined && !/^\d{1,3}$/.test(length)) return undefined;
  return bits <= bytes.length * 8 ? { bytes, bits } : undefined;
}

export function contains(block: { readonly bytes: readonly number[]; readonly bits: number }, address: readonly number[]): boolean {
  if (block.bytes.length !== address.length) return false;
  return block.bytes.every((byte, index) => {
    const bits = Math.min(8, Math.max(0, block.bits - index * 8));
    const mask = (0xff << (8 - bits)) & 0xff;
    return (byte & mask) === ((address[index] ?? 0) & mask);
  });
}

function range4(address: string, bits: number, kind: AddressKind): Range {
  return { bytes: address.split('.').map(Number), bits, kind };
}

function range6(address: string, bits: number, kind: AddressKind): Range {
  return { bytes: parseAddress(address) ?? [], bits, kind };
}
