import type { ChannelOptions } from '@grpc/grpc-js';
import { type Channel, type CompatServiceDefinition, createChannel, createClientFactory } from 'nice-grpc';
import { type CallOptions, ClientError, type ClientMiddlewareCall, type Metadata, Status } from 'nice-grpc-common';
import { NO_TRACING, type Tracing } from '../telemetry/tracing.ts';
import { fromGrpcError } from './errors.ts';
import { createMessageWriter } from './message-writer.ts';
import { createReplacedChannel } from './replaced-channel.ts';
import type { MethodDefinition, RpcDefinition } from './service.ts';
import { MAX_MESSAGE_BYTES } from './shared-stream.ts';
import { createSharedStreams, type OnBroken } from './shared-streams.ts';
import { sharingClient } from './sharing-client.ts';
import { tracedClient } from './traced-client.ts';

/** No call that only reads may take longer, in milliseconds. */
const READ_DEADLINE_MS = 30_000;
/** No other call may take longer: moving a tree to another storage is done within its call. */
const CHANGE_DEADLINE_MS = 3_600_000;

/** Connections of this age are replaced, in milliseconds: so new replicas are known. Calls under way end on the old ones. */
export const CONNECTION_AGE_MS = 30_000;
/**
 * What a service may send over a connection, and on each call of its own, before we have taken some, in bytes: an answer comes at once instead of stopping each
 * 32 KiB for our word, which costs both sides a message. Shared streams have bounds of their own.
 */
const WINDOW_BYTES = 512 * 1024;
/** A call that was refused so often has failed. */
const MAX_REFUSALS = 10;

/** A service behind an address. All its contracts are spoken over one connection. */
export interface GrpcPeer {
  /** @param definition one of those that the peer was created with */
  client<Client>(definition: RpcDefinition): Client;
  close(): void;
}

/**
 * Speaks to a service behind `host:port`; a name with several addresses is used in turn. Connects when first used.
 *
 * @param options.readDeadlineMs no call that only reads may take longer, in milliseconds
 * @param options.onBroken is told of shared streams that break. Left out: there are none, and each call has a stream of its own.
 */
export function createGrpcPeer(
  address: string,
  definitions: readonly RpcDefinition[],
  {
    tracing = NO_TRACING,
    onBroken,
    connectionAgeMs = CONNECTION_AGE_MS,
    readDeadlineMs = READ_DEADLINE_MS,
  }: { tracing?: Tracing; onBroken?: OnBroken | undefined; connectionAgeMs?: number; readDeadlineMs?: number | undefined } = {},
): GrpcPeer {
  // Each channel has connections of its own: calls go to all replicas that its name has when it is made.
  const channelOf = () => createChannel(`dns:///${address}`, undefined, channelOptions(definitions));
  const deadlineOf = ({ options }: Pick<MethodDefinition, 'options'>) =>
    options.idempotencyLevel === 'NO_SIDE_EFFECTS' ? readDeadlineMs : CHANGE_DEADLINE_MS;
  const factory = createClientFactory().use(withDeadlineAndErrors(deadlineOf));
  // ts-proto's generic definitions are what nice-grpc takes; RpcDefinition names only the parts used here.
  const clientOf = (definition: RpcDefinition, channel: Channel) =>
    factory.create(definition as unknown as CompatServiceDefinition, channel);
  const encode = createMessageWriter();
  const calls = createReplacedChannel(channelOf, clientOf, connectionAgeMs);
  const streams = onBroken && createSharedStreams(channelOf, encode, onBroken);
  return {
    client<Client>(definition: RpcDefinition) {
      const alone = calls.client<Client>(definition);
      const client = streams ? sharingClient(alone, definition, streams, tracing, encode, deadlineOf) : alone;
      return tracedClient(client, definition, tracing);
    },
    close() {
      streams?.close();
      calls.close();
    },
  };
}

/** Round robin over all addresses; a call without side effects is tried again when a replica cannot be reached. */
function channelOptions(definitions: readonly RpcDefinition[]): ChannelOptions {
  const name = definitions.flatMap(({ fullName, methods }) =>
    Object.values(methods)
      .filter((method) => method.options.idempotencyLevel === 'NO_SIDE_EFFECTS')
      .map((method) => ({ service: fullName, method: method.name })),
  );
  const serviceConfig = {
    loadBalancingConfig: [{ round_robin: {} }],
    methodConfig: [
      {
        name,
        retryPolicy: {
          maxAttempts: 3,
          initialBackoff: '0.1s',
          maxBackoff: '1s',
          backoffMultiplier: 2,
          retryableStatusCodes: ['UNAVAILABLE'],
        },
      },
    ],
  };
  return {
    'grpc.service_config': JSON.stringify(serviceConfig),
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.enable_channelz': 0,
    // Proxies that the environment names are for the world outside: one would read what our processes tell each other, or lead nowhere.
    'grpc.enable_http_proxy': 0,
    'grpc.use_local_subchannel_pool': 1,
    'grpc-node.flow_control_window': WINDOW_BYTES,
    'grpc.keepalive_time_ms': 20_000,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 2_000,
    // A name is asked for again when a connection ends. By default not within 30 s: a replica that came meanwhile would not be known when it is the last.
    'grpc.dns_min_time_between_resolutions_ms': 1_000,
  };
}

/** Whether a connection that was just closing refused the call: nobody has begun it. gRPC's client itself tries such a call twice only. */
const isRefused = (error: unknown) =>
  error instanceof ClientError && error.code === Status.UNAVAILABLE && error.details === 'Stream refused by server';

/** @internal exported for a test */
export const withDeadlineAndErrors = (deadlineOf: (method: Pick<MethodDefinition, 'options'>) => number) =>
  async function* limited<Request, Response>(
    call: ClientMiddlewareCall<Request, Response>,
    options: CallOptions,
  ): AsyncGenerator<Response, Response | undefined, undefined> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), deadlineOf(call.method));
    const signal = options.signal ? AbortSignal.any([options.signal, deadline.signal]) : deadline.signal;
    let trailer: Metadata | undefined;
    const onTrailer = (received: Metadata) => {
      trailer = received;
    };
    try {
      for (let attempt = 1; ; attempt += 1)
        try {
          return (yield* call.next(call.request, { ...options, signal, onTrailer })) ?? undefined;
        } catch (error) {
          if (!isRefused(error) || attempt === MAX_REFUSALS) throw error;
        }
    } catch (error) {
      throw fromGrpcError(error, trailer, deadline.signal.aborted);
    } finally {
      clearTimeout(timer);
    }
  };
