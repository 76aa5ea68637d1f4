import type { ChannelOptions, ServerOptions } from '@grpc/grpc-js';
import { AppError } from '@wharf/errors';
import { CallServiceDefinition, CarryCallsRequest, CarryCallsResponse } from '@wharf/proto/call';
import { type CompatServiceDefinition, createServer, type ServiceDefinition } from 'nice-grpc';
import type { CallContext } from 'nice-grpc-common';
import type { InternalTokens } from '../identity/identity.ts';
import { NONE_ENDS, type OpenCalls } from '../ops/open-calls.ts';
import { foreseen } from '../store-outage.ts';
import { inSpan, NO_TRACING, type SpanOptions, streamInSpan, TRACEPARENT, type Tracing } from '../telemetry/tracing.ts';
import { boundUnproven } from './bound-unproven.ts';
import { incomingCall } from './call.ts';
import { toGrpcError } from './errors.ts';
import { CONNECTION_AGE_MS } from './grpc-client.ts';
import { HealthDefinition, healthImplementation } from './health.ts';
import { createMessageWriter, freeMessage, type MessageWriter } from './message-writer.ts';
import { proveCallers } from './prove-callers.ts';
import { createServedStreams } from './served-streams.ts';
import { invoke, type RpcService } from './service.ts';
import { MAX_MESSAGE_BYTES } from './shared-stream.ts';
import { spanNameOf } from './traced-client.ts';

export interface GrpcServer {
  /** The port it listens on. */
  readonly port: number;
  /** Waits for calls under way; after `graceMs` milliseconds they are cut off. */
  stop(graceMs: number): Promise<void>;
}

/** Calls under way on one connection of ours; a client keeps back what is beyond it until one of them ends. */
const MAX_STREAMS = 1_000;

/**
 * Each connection is asked so often whether its caller is there, and ends where no answer comes for as long, in milliseconds: of one that stands still, or
 * whose network is gone, the system may tell nothing for hours, and what answers it holds would be held as long.
 */
const SILENCE_MS = 20_000;

/** For so long a server that stops goes on listening while calls of shared streams end and others begin elsewhere, in milliseconds. */
const RETIRE_MS = 1_000;

/** Serves RPC services to our own processes, and gRPC's standard health service to everybody. */
export async function startGrpcServer(options: {
  services: readonly RpcService[];
  host: string;
  port: number;
  tokens: InternalTokens;
  /** Left out: there are no traces. */
  tracing?: Tracing;
  isReady: () => boolean;
  /** Left out: none ends early. */
  openCalls?: OpenCalls;
  onUnforeseen: (error: unknown, method: string) => void;
  /** Shared streams of this age retire, in milliseconds. */
  streamAgeMs?: number;
  /** SILENCE_MS unless told. */
  silenceMs?: number;
}): Promise<GrpcServer> {
  const {
    services,
    tokens,
    tracing = NO_TRACING,
    openCalls = NONE_ENDS,
    onUnforeseen,
    streamAgeMs = CONNECTION_AGE_MS,
    silenceMs = SILENCE_MS,
  } = options;
  // nice-grpc hands on all options, and names those of channels only.
  const serverOptions: ServerOptions = {
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.enable_channelz': 0,
    'grpc.max_concurrent_streams': MAX_STREAMS,
    'grpc.keepalive_time_ms': silenceMs,
    'grpc.keepalive_timeout_ms': silenceMs,
    interceptors: [proveCallers(tokens)],
  };
  const server = createServer(serverOptions as ChannelOptions);
  for (const service of services)
    server.add(service.definition as unknown as CompatServiceDefinition, implementation(service, tokens, tracing, onUnforeseen) as never);
  const encode = createMessageWriter();
  const streams = createServedStreams({ services, tokens, tracing, encode, openCalls, onUnforeseen, lifetimeMs: streamAgeMs });
  server.add(sharedStreamDefinition(encode), { carryCalls: streams.serve } as never);
  server.add(HealthDefinition as unknown as CompatServiceDefinition, healthImplementation(options.isReady) as never);
  const port = await server.listen(`${options.host}:${options.port}`);
  const unbound = boundUnproven(port, tokens);
  return {
    port,
    async stop(graceMs) {
      let force: NodeJS.Timeout | undefined;
      // What is left is destroyed then. The library may wait for the end of a connection all the same, of one that ended in that moment.
      const forced = new Promise<void>((resolve) => {
        force = setTimeout(() => {
          server.forceShutdown();
          resolve();
        }, graceMs);
      });
      let listenNoMore: NodeJS.Timeout | undefined;
      const limit = new Promise<void>((resolve) => {
        listenNoMore = setTimeout(resolve, Math.min(graceMs, RETIRE_MS));
      });
      await Promise.race([streams.retireAll(), limit]);
      clearTimeout(listenNoMore);
      await Promise.race([server.shutdown(), forced]);
      clearTimeout(force);
      unbound();
    },
  };
}

/** What nice-grpc makes of ts-proto's definition, but for what writes: it would copy each answer field by field first. */
function sharedStreamDefinition(encode: MessageWriter): ServiceDefinition {
  let last: Uint8Array | undefined;
  return {
    carryCalls: {
      path: `/${CallServiceDefinition.fullName}/${CallServiceDefinition.methods.carryCalls.name}`,
      requestStream: true,
      responseStream: true,
      requestSerialize: (request: unknown) => encode(CarryCallsRequest, request as never),
      requestDeserialize: CarryCallsRequest.decode,
      responseSerialize(response: CarryCallsResponse) {
        // The library copies what it is given before it asks for more.
        if (last) freeMessage(last);
        last = encode(CarryCallsResponse, response as never);
        for (const { message, is_part } of response.steps) if (message && !is_part) freeMessage(message);
        return last;
      },
      responseDeserialize: CarryCallsResponse.decode,
      options: {},
    },
  };
}

/** nice-grpc's form of a service: one function per method that takes a message and a CallContext. */
function implementation(
  service: RpcService,
  tokens: InternalTokens,
  tracing: Tracing,
  onUnforeseen: (error: unknown, method: string) => void,
) {
  const refuse = (thrown: unknown, name: string, context: CallContext) => {
    const error = foreseen(thrown, context.signal);
    if (!AppError.is(error)) onUnforeseen(error, `${service.definition.name}.${name}`);
    return toGrpcError(AppError.from(error), context);
  };
  const methods: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(service.definition.methods)) {
    const spanName = spanNameOf(service.definition, name);
    const start = (request: unknown, context: CallContext) => invoke(service, name, request, incomingCall(tokens, context));
    methods[name] = method.responseStream
      ? async function* (request: unknown, context: CallContext) {
          try {
            yield* streamInSpan(tracing, spanName, spanOf(context), () => start(request, context) as AsyncIterable<unknown>);
          } catch (error) {
            throw refuse(error, name, context);
          }
        }
      : async (request: unknown, context: CallContext) => {
          try {
            return await inSpan(tracing, spanName, spanOf(context), async () => start(request, context));
          } catch (error) {
            throw refuse(error, name, context);
          }
        };
  }
  return methods;
}

/** Of a call that belongs to no trace, none begins. */
function spanOf({ metadata }: CallContext): SpanOptions {
  const parent = metadata.get(TRACEPARENT);
  return { kind: 'server', ...(parent === undefined ? {} : { parent }) };
}
