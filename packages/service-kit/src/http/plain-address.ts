import { isIPv6 } from 'node:net';

/** Groups of an IPv6 address that name the network. A host chooses the other groups itself. */
const NETWORK_GROUPS = 4;

/**
 * An address as it is counted and remembered: an IPv4 client has one, in whichever of its forms it shows up, an IPv6 client its network
 * (/64).
 */
export function plainAddress(address: string): string {
  // Most have none, and the pattern behind isIPv6() is a long one.
  if (!address.includes(':') || !isIPv6(address)) return address;
  const groups = groupsOf(new URL(`http://[${address.split('%', 1)[0]}]`).hostname.slice(1, -1));
  if (groups.slice(0, 5).every((group) => group === '0') && groups[5] === 'ffff') return dotted(groups.slice(6));
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

/** The eight groups of an address that is in the canonical form of URLs. */
function groupsOf(canonical: string): string[] {
  const [left = [], right] = canonical.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  return right === undefined ? left : [...left, ...Array.from({ length: 8 - left.length - right.length }, () => '0'), ...right];
}

function dotted(groups: readonly string[]): string {
  return groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]).join('.');
}
