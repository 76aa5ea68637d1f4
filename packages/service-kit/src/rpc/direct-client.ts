import { AppError } from '@wharf/errors';
import type { CallOptions } from 'nice-grpc-common';
import type { InternalTokens } from '../identity/identity.ts';
import { foreseen } from '../store-outage.ts';
import { inSpan, NO_TRACING, streamInSpan } from '../telemetry/tracing.ts';
import { directCall } from './call.ts';
import { invoke, type MethodDefinition, type RpcDefinition, type RpcService } from './service.ts';
import { spanNameOf } from './traced-client.ts';

/**
 * A client that calls a service of this process: no socket, no serialisation, the same generated interface. Requests and answers pass
 * through `fromPartial`, so defaults are those of gRPC. Who calls is known without a proof where this process says so.
 *
 * @param service is asked for at each call, because services of one process know each other mutually.
 * @param onUnforeseen is told of every error that is not an AppError; the caller gets INTERNAL.
 */
export function createDirectClient<Client>(
  definition: RpcDefinition,
  service: () => RpcService,
  tokens: InternalTokens,
  onUnforeseen: (error: unknown, method: string) => void,
  tracing = NO_TRACING,
): Client {
  const refuse = (thrown: unknown, method: string, signal: AbortSignal | undefined): AppError => {
    const error = foreseen(thrown, signal);
    if (!AppError.is(error)) onUnforeseen(error, `${definition.name}.${method}`);
    return AppError.from(error);
  };
  const client: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(definition.methods)) {
    const start = (request: never, options: CallOptions = {}) =>
      invoke(service(), name, method.requestType.fromPartial(request), directCall(tokens, options));
    const spanName = spanNameOf(definition, name);
    client[name] = method.responseStream
      ? async function* (request: never, options?: CallOptions) {
          try {
            const messages = streamInSpan(tracing, spanName, {}, () => start(request, options) as AsyncIterable<never>);
            for await (const message of messages) yield method.responseType.fromPartial(message);
          } catch (error) {
            throw refuse(error, name, options?.signal);
          }
        }
      : async (request: never, options?: CallOptions) => {
          try {
            return answer(method, await inSpan(tracing, spanName, {}, async () => start(request, options)));
          } catch (error) {
            throw refuse(error, name, options?.signal);
          }
        };
  }
  return client as Client;
}

function answer(method: MethodDefinition, message: unknown): unknown {
  return method.responseType.fromPartial(message as never);
}
