import type { Endpoint } from './egress-policy.ts';

/**
 * The hosts and ports that a connection string names (`mongodb://a:27017,b:27017/wharf`, `nats://token@host`, `host:port`); sockets and what
 * cannot be read are left out. @internal for its test
 */
export function endpointsOf(address: string | undefined, defaultPort: number): Endpoint[] {
  const authority = (address ?? '').replace(/^[a-z+]+:\/\//i, '').replace(/[/?#].*$/s, '');
  const places = authority.slice(authority.lastIndexOf('@') + 1);
  return places.split(',').flatMap((place) => {
    const match = /^(\[[^\]]+\]|[^:[\]%]+)(?::(\d{1,5}))?$/.exec(place.trim());
    return match?.[1] === undefined ? [] : [{ host: match[1].replace(/^\[(.*)\]$/, '$1'), port: Number(match[2] ?? defaultPort) }];
  });
}

/** Ports that connection strings may leave out. */
const MONGO_PORT = 27_017;
const NATS_PORT = 4_222;
const GRPC_PORT = 443;

/** Addresses of a process by which it reaches what Wharf consists of. */
export interface OwnAddresses {
  readonly mongoUrl?: string | undefined;
  readonly natsUrl?: string | undefined;
  /** Where else this process listens: a store and a bus that it started, its own ports. */
  readonly engines?: readonly string[] | undefined;
  readonly authAddress?: string | undefined;
  readonly adminAddress?: string | undefined;
  readonly fsAddress?: string | undefined;
  readonly downloaderAddress?: string | undefined;
  readonly fsDataUrl?: string | undefined;
  /** The collector of traces. */
  readonly otlpEndpoint?: string | undefined;
  /** What else belongs to this Wharf, as `host:port`. */
  readonly ownAddresses?: readonly string[] | undefined;
  /** Where this process listens, and its ports there; 0 is a free one, which is not known here. */
  readonly bind?: string | undefined;
  readonly grpcPort?: number | undefined;
  readonly httpPort?: number | undefined;
  readonly opsPort?: number | undefined;
}

/** Where Wharf itself listens: nothing that a user or an admin names may lead there. */
export function ownEndpoints(own: OwnAddresses): Endpoint[] {
  const { bind: host } = own;
  const peers = [own.authAddress, own.adminAddress, own.fsAddress, own.downloaderAddress, own.fsDataUrl];
  return [
    ...[own.mongoUrl, ...(own.engines ?? [])].flatMap((address) => endpointsOf(address, MONGO_PORT)),
    ...endpointsOf(own.natsUrl, NATS_PORT),
    ...endpointsOf(own.otlpEndpoint, own.otlpEndpoint?.startsWith('https:') ? 443 : 80),
    ...[...peers, ...(own.ownAddresses ?? [])].flatMap((address) => endpointsOf(address, GRPC_PORT)),
    ...[own.grpcPort, own.httpPort, own.opsPort].flatMap((port) => (host !== undefined && port ? [{ host, port }] : [])),
  ];
}
