import { type CallOptions, Metadata } from 'nice-grpc-common';
import { inSpan, NO_TRACING, streamInSpan, TRACEPARENT, type Tracing } from '../telemetry/tracing.ts';
import type { RpcDefinition } from './service.ts';

type Unary = (request: never, options?: CallOptions) => Promise<unknown>;
type Streaming = (request: never, options?: CallOptions) => AsyncIterable<unknown>;

/** A client whose calls are spans that the service goes on with. */
export function tracedClient<Client>(client: Client, definition: RpcDefinition, tracing: Tracing): Client {
  if (tracing === NO_TRACING) return client;
  const kind = { kind: 'client' } as const;
  const traced: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(definition.methods)) {
    const spanName = spanNameOf(definition, name);
    const call = (client as Record<string, unknown>)[name];
    traced[name] = method.responseStream
      ? (request: never, options?: CallOptions) =>
          streamInSpan(tracing, spanName, kind, () => (call as Streaming)(request, withTrace(tracing, options)))
      : (request: never, options?: CallOptions) =>
          inSpan(tracing, spanName, kind, () => (call as Unary)(request, withTrace(tracing, options)));
  }
  return traced as Client;
}

/** A method as OpenTelemetry names it: `wharf.fs.v1.FsService/ListEntries`. */
export function spanNameOf(definition: RpcDefinition, method: string): string {
  return `${definition.fullName}/${definition.methods[method]?.name ?? method}`;
}

function withTrace(tracing: Tracing, options: CallOptions = {}): CallOptions {
  const traceparent = tracing.traceparent();
  return traceparent === undefined ? options : { ...options, metadata: Metadata(options.metadata).set(TRACEPARENT, traceparent) };
}
