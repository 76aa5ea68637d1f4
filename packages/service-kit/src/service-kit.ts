import type { CallOptions } from 'nice-grpc-common';
import { Registry } from 'prom-client';
import type { Bus } from './bus/bus.ts';
import type { Secret } from './config/secret.ts';
import { deriveKeys, type Keys } from './crypto/keys.ts';
import { createInternalTokens, type InternalTokens } from './identity/identity.ts';
import type { Logger } from './ops/logger.ts';
import { createOpenCalls, type OpenCalls } from './ops/open-calls.ts';
import { createReadiness, type Readiness } from './ops/readiness.ts';
import { outgoingCall } from './rpc/call.ts';
import type { Peers } from './rpc/peers.ts';
import { createStoreCheck, type StoreConnection } from './store.ts';
import { NO_TRACING, type Tracing } from './telemetry/tracing.ts';

/** What a service gets from its process. */
export interface ServiceKit {
  readonly name: string;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** The same by this machine alone, whatever processes agree on: for what devices of people and other servers show. */
  readonly machineClock: () => number;
  readonly keys: Keys;
  readonly tokens: InternalTokens;
  readonly store: StoreConnection;
  readonly bus: Bus;
  readonly peers: Peers;
  readonly metrics: Registry;
  readonly readiness: Readiness;
  readonly tracing: Tracing;
  /** The calls that are under way in the process, of all of its services. */
  readonly openCalls: OpenCalls;
  /** Options for a call to a peer on the service's own account. */
  ownCall(): CallOptions;
}

/** Builds a kit from parts that are open already; whoever opened them closes them. */
export function createServiceKit(parts: {
  name: string;
  logger: Logger;
  secret: Secret;
  store: StoreConnection;
  bus: Bus;
  /** Left out: there are no traces. */
  tracing?: Tracing;
  /** Milliseconds since 1970; left out: this machine's, where no other process has to agree. */
  clock?: (() => number) | undefined;
  peers: (tokens: InternalTokens) => Peers;
}): ServiceKit {
  const { name, logger, store, bus, tracing = NO_TRACING, clock = () => Date.now() } = parts;
  const keys = deriveKeys(parts.secret);
  const tokens = createInternalTokens(keys.internal, clock);
  const readiness = createReadiness();
  readiness.require('store', createStoreCheck(store));
  const metrics = new Registry();
  return {
    name,
    logger,
    clock,
    machineClock: () => Date.now(),
    keys,
    tokens,
    store,
    bus,
    peers: parts.peers(tokens),
    metrics,
    readiness,
    tracing,
    openCalls: createOpenCalls(logger),
    ownCall: ownCall(tokens, name),
  };
}

/** The same kit under another service's name, for services that share a process. */
export function kitFor(kit: ServiceKit, name: string): ServiceKit {
  return { ...kit, name, logger: kit.logger.child({ service: name }), ownCall: ownCall(kit.tokens, name) };
}

const ownCall = (tokens: InternalTokens, name: string) => () =>
  outgoingCall(tokens, { identity: { kind: 'service', name }, requestId: `${name}-own`, revisions: { auth: 0, admin: 0 } });
