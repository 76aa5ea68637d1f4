import type { ChannelOptions, ServerOptions } from '@grpc/grpc-js';
import { AppError } from '@wharf/errors';
import { type CompatServiceDefinition, createServer } from 'nice-grpc';
import type { CallContext } from 'nice-grpc-common';
import type { InternalTokens } from '../identity/identity.ts';
import { foreseen } from '../store-outage.ts';
import { inSpan, NO_TRACING, type SpanOptions, streamInSpan, TRACEPARENT, type Tracing } from '../telemetry/tracing.ts';
import { incomingCall } from './call.ts';
import { toGrpcError } from './errors.ts';
import { CHANGE_DEADLINE_MS, MAX_MESSAGE_BYTES } from './grpc-client.ts';
import { HealthDefinition, healthImplementation } from './health.ts';
import { proveCallers } from './prove-callers.ts';
import { invoke, type RpcService } from './service.ts';
import { spanNameOf } from './traced-client.ts';

export interface GrpcServer {
  /** The port it listens on. */
  readonly port: number;
  /** Waits for calls under way; after `graceMs` milliseconds they are cut off. */
  stop(graceMs: number): Promise<void>;
}

/** Calls under way on one connection; a client keeps back what is beyond it until one of them ends. */
const MAX_STREAMS = 1_000;
/** A client whose connection has this age makes another one, in milliseconds, and learns of new replicas; calls under way end on the old one. */
const CONNECTION_AGE_MS = 30_000;

/** Serves RPC services to our own processes, and gRPC's standard health service to everybody. */
export async function startGrpcServer(options: {
  services: readonly RpcService[];
  host: string;
  port: number;
  tokens: InternalTokens;
  /** Left out: there are no traces. */
  tracing?: Tracing;
  isReady: () => boolean;
  onUnforeseen: (error: unknown, method: string) => void;
  connectionAgeMs?: number;
}): Promise<GrpcServer> {
  const { services, tokens, tracing = NO_TRACING, onUnforeseen, connectionAgeMs = CONNECTION_AGE_MS } = options;
  // nice-grpc hands on all options, and names those of channels only.
  const serverOptions: ServerOptions = {
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_concurrent_streams': MAX_STREAMS,
    'grpc.max_connection_age_ms': connectionAgeMs,
    'grpc.max_connection_age_grace_ms': CHANGE_DEADLINE_MS,
    interceptors: [proveCallers(tokens)],
  };
  const server = createServer(serverOptions as ChannelOptions);
  for (const service of services)
    server.add(service.definition as unknown as CompatServiceDefinition, implementation(service, tokens, tracing, onUnforeseen) as never);
  server.add(HealthDefinition as unknown as CompatServiceDefinition, healthImplementation(options.isReady) as never);
  const port = await server.listen(`${options.host}:${options.port}`);
  return {
    port,
    async stop(graceMs) {
      const force = setTimeout(() => server.forceShutdown(), graceMs);
      await server.shutdown();
      clearTimeout(force);
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
    const error = foreseen(thrown);
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
