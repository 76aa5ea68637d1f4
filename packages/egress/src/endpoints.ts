import type { Endpoint } from './egress-policy.ts';

/**
 * The hosts and ports that a connection string names (`mongodb://a:27017,b:27017/wharf`, `nats://token@host`, `host:port`); sockets and what
 * cannot be read are left out.
 */
export function endpointsOf(address: string | undefined, defaultPort: number): Endpoint[] {
  const authority = (address ?? '').replace(/^[a-z+]+:\/\//i, '').replace(/[/?#].*$/s, '');
  const places = authority.slice(authority.lastIndexOf('@') + 1);
  return places.split(',').flatMap((place) => {
    const match = /^(\[[^\]]+\]|[^:[\]%]+)(?::(\d{1,5}))?$/.exec(place.trim());
    return match?.[1] === undefined ? [] : [{ host: match[1].replace(/^\[(.*)\]$/, '$1'), port: Number(match[2] ?? defaultPort) }];
  });
}
