import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { waitFor } from '@wharf/harness';
import { CarryCallsRequest } from '@wharf/proto/call';
import { createChannel, createClientFactory } from 'nice-grpc';
import { type CallOptions, ClientError, type ClientMiddlewareCall } from 'nice-grpc-common';
import { createInternalTokens } from '../src/identity/identity.ts';
import { withDeadlineAndErrors } from '../src/rpc/grpc-client.ts';
import { createMessageWriter } from '../src/rpc/message-writer.ts';
import { createReplacedChannel } from '../src/rpc/replaced-channel.ts';
import type { RpcDefinition } from '../src/rpc/service.ts';
import { createSharedStreams } from '../src/rpc/shared-streams.ts';
import { sharingClient } from '../src/rpc/sharing-client.ts';
import { NO_TRACING } from '../src/telemetry/tracing.ts';

/** Connections of calls that go alone are replaced at this age, in milliseconds. */
const CONNECTION_AGE_MS = 250;

/** Those of the servers that are tried. */
export const tokens = createInternalTokens(randomBytes(32), () => Date.now());
const stated = { tokens, call: { identity: { kind: 'service', name: 'test' }, requestId: 'r', revisions: { auth: 0, admin: 0 } } } as const;

/** A call that goes alone waits where one server is away and the connection to the other one is being replaced. */
async function* waitForConnection<Request, Response>(call: ClientMiddlewareCall<Request, Response>, options: CallOptions) {
  for (;;)
    try {
      return yield* call.next(call.request, options);
    } catch (error) {
      if (!(AppError.is(error) && error.cause instanceof ClientError && error.cause.details.includes('No connection established')))
        throw error;
      await delay(20);
    }
}

/** Clients of servers at these ports of 127.0.0.1. Calls that go alone are counted, and messages of streams; `mayGoAlone` says whether the former are sent. */
export function openSharing(ports: readonly number[], { mayGoAlone = true } = {}) {
  const channelOf = () =>
    createChannel(`ipv4:${ports.map((port) => `127.0.0.1:${port}`).join()}`, undefined, {
      'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.use_local_subchannel_pool': 1,
    });
  const factory = createClientFactory()
    .use(withDeadlineAndErrors(() => 30_000))
    .use(waitForConnection);
  const calls = createReplacedChannel(channelOf, (definition, channel) => factory.create(definition as never, channel), CONNECTION_AGE_MS);
  const broken: unknown[] = [];
  const counts = { alone: 0, messages: 0 };
  const write = createMessageWriter();
  const encode: typeof write = (type, message) => {
    if (type === CarryCallsRequest) counts.messages += 1;
    return write(type, message);
  };
  const streams = createSharedStreams(channelOf, encode, (status) => broken.push(status));
  const client = <Client extends object>(definition: RpcDefinition): Client => {
    const alone = calls.client<Record<string, (...given: unknown[]) => unknown>>(definition);
    const counted = Object.fromEntries(
      Object.keys(definition.methods).map((name) => [
        name,
        (...given: unknown[]) => {
          counts.alone += 1;
          if (!mayGoAlone) throw new AppError('INTERNAL', 'went alone');
          return alone[name]?.(...given);
        },
      ]),
    );
    return sharingClient(counted as Client, definition, streams, NO_TRACING, encode, () => 30_000);
  };
  return {
    client,
    counts,
    /** How streams ended that had calls. */
    broken,
    untilShared: () => waitFor('a shared stream', () => streams.find(stated) !== undefined),
    close() {
      streams.close();
      calls.close();
    },
  };
}
