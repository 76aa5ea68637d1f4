import type { ChannelOptions } from '@grpc/grpc-js';
import { type Channel, type CompatServiceDefinition, createChannel, createClientFactory } from 'nice-grpc';
import type { CallOptions, ClientMiddlewareCall, Metadata } from 'nice-grpc-common';
import { NO_TRACING } from '../telemetry/tracing.ts';
import { fromGrpcError } from './errors.ts';
import type { RpcDefinition } from './service.ts';
import { tracedClient } from './traced-client.ts';

/** No call that only reads may take longer, in milliseconds. */
const READ_DEADLINE_MS = 30_000;
/** No other call may take longer: moving a tree to another storage is done within its call. */
export const CHANGE_DEADLINE_MS = 3_600_000;
/** The largest message, in bytes. Listings are streamed in chunks far below it; lists of users or rules come whole. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/** A service behind an address. All its contracts are spoken over one connection. */
export interface GrpcPeer {
  /** @param definition one of those that the peer was created with */
  client<Client>(definition: RpcDefinition): Client;
  close(): void;
}

/** Speaks to a service behind `host:port`; a name with several addresses is used in turn. Connects when first used. */
export function createGrpcPeer(address: string, definitions: readonly RpcDefinition[], tracing = NO_TRACING): GrpcPeer {
  const channel: Channel = createChannel(`dns:///${address}`, undefined, channelOptions(definitions));
  const factory = createClientFactory().use(withDeadlineAndErrors);
  return {
    // ts-proto's generic definitions are what nice-grpc takes; RpcDefinition names only the parts used here.
    client: <Client>(definition: RpcDefinition) =>
      tracedClient(factory.create(definition as unknown as CompatServiceDefinition, channel) as unknown as Client, definition, tracing),
    close: () => channel.close(),
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
    'grpc.keepalive_time_ms': 20_000,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 2_000,
    // A name is asked for again when a connection ends. By default not within 30 s: a replica that came meanwhile would not be known when it is the last.
    'grpc.dns_min_time_between_resolutions_ms': 1_000,
  };
}

async function* withDeadlineAndErrors<Request, Response>(
  call: ClientMiddlewareCall<Request, Response>,
  options: CallOptions,
): AsyncGenerator<Response, Response | undefined, undefined> {
  const deadline = new AbortController();
  const isRead = call.method.options.idempotencyLevel === 'NO_SIDE_EFFECTS';
  const timer = setTimeout(() => deadline.abort(), isRead ? READ_DEADLINE_MS : CHANGE_DEADLINE_MS);
  const signal = options.signal ? AbortSignal.any([options.signal, deadline.signal]) : deadline.signal;
  let trailer: Metadata | undefined;
  const onTrailer = (received: Metadata) => {
    trailer = received;
  };
  try {
    const result = yield* call.next(call.request, { ...options, signal, onTrailer });
    return result ?? undefined;
  } catch (error) {
    throw fromGrpcError(error, trailer, deadline.signal.aborted);
  } finally {
    clearTimeout(timer);
  }
}
