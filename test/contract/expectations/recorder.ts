import { AppError } from '@wharf/errors';
import {
  type Call,
  createInternalTokens,
  defineRpcService,
  deriveKeys,
  forAnyone,
  type Identity,
  NO_TRACING,
  outgoingCall,
  type RpcDefinition,
  Secret,
} from '@wharf/service-kit';
import { createGrpcPeers, type GrpcServer, startGrpcServer } from '@wharf/service-kit/grpc';
import { PROVIDERS, type Provider } from '../support/contracts.ts';

const CALLERS = ['gateway', 'admin', 'fs', 'downloader'] as const;
export type Caller = (typeof CALLERS)[number];

/** A call of one service to another, and what came of it. */
export interface RecordedCall {
  readonly caller: Caller;
  readonly provider: Provider;
  /** The name of the client, such as `fsWrites`; `bytes`: HTTP, to the data plane of fs. */
  readonly client: string;
  /** As the client names it. */
  readonly method: string;
  readonly identity: Identity;
  readonly request: unknown;
  /** Absent while it runs. */
  answer?: { readonly ok: unknown } | { readonly error: string };
}

/** Stands between services: each caller has an address of its own for each that it calls. */
export interface Recorder {
  /** Says where the services are, as variables of their environment (`WHARF_FS_ADDR`): before the first call. */
  setOut(addresses: Readonly<Record<string, string>>): void;
  /** What a caller is told of the services that it calls. */
  addressesFor(caller: Caller): Readonly<Record<string, string>>;
  /** In the order in which they began. */
  readonly calls: RecordedCall[];
  stop(): Promise<void>;
}

/** Listens at once. @param secret of the services */
export async function startRecorder(secret: string): Promise<Recorder> {
  const tokens = createInternalTokens(deriveKeys(new Secret(secret)).internal, Date.now);
  let connection: ReturnType<typeof createGrpcPeers> | undefined;
  const calls: RecordedCall[] = [];
  const servers: GrpcServer[] = [];
  const told = new Map<Caller, Record<string, string>>();

  /** A handler that hands the call on and remembers it. */
  const handler = (caller: Caller, provider: Provider, client: string, method: string, isStream: boolean) => {
    const begin = (request: unknown, call: Call) => {
      const { identity } = call;
      if (identity === undefined) throw new AppError('UNAUTHENTICATED', 'nobody calls');
      const recorded: RecordedCall = { caller, provider, client, method, identity, request };
      calls.push(recorded);
      const answer = Reflect.get(Reflect.get(connection?.peers ?? {}, client), method)(request, outgoingCall(tokens, call));
      const failed = (error: unknown) => {
        recorded.answer = { error: AppError.from(error).code };
        return error;
      };
      return { recorded, answer, failed };
    };
    if (isStream)
      return async function* (request: unknown, call: Call) {
        const { recorded, answer, failed } = begin(request, call);
        const messages: unknown[] = [];
        try {
          for await (const message of answer) {
            messages.push(message);
            yield message;
          }
          recorded.answer = { ok: messages };
        } catch (error) {
          throw failed(error);
        }
      };
    return async (request: unknown, call: Call) => {
      const { recorded, answer, failed } = begin(request, call);
      try {
        const ok = await answer;
        recorded.answer = { ok };
        return ok;
      } catch (error) {
        throw failed(error);
      }
    };
  };

  for (const caller of CALLERS) {
    const own: Record<string, string> = {};
    for (const provider of Object.keys(PROVIDERS) as Provider[]) {
      const services = Object.entries<RpcDefinition>(PROVIDERS[provider].contracts).map(([client, definition]) =>
        defineRpcService(
          definition,
          Object.fromEntries(
            Object.entries(definition.methods).map(([method, { responseStream }]) => [
              method,
              forAnyone(handler(caller, provider, client, method, responseStream)),
            ]),
          ) as never,
        ),
      );
      const server = await startGrpcServer({
        services,
        host: '127.0.0.1',
        port: 0,
        tokens,
        isReady: () => true,
        onUnforeseen: (error) => console.error(error),
      });
      servers.push(server);
      own[variableOf(provider)] = `127.0.0.1:${server.port}`;
    }
    told.set(caller, own);
  }
  return {
    calls,
    setOut(addresses) {
      const addressOf = (provider: Provider) => addresses[variableOf(provider)] ?? '';
      connection = createGrpcPeers(
        {
          ...{ authAddress: addressOf('auth'), adminAddress: addressOf('admin') },
          ...{ fsAddress: addressOf('fs'), downloaderAddress: addressOf('downloader') },
        },
        { tracing: NO_TRACING, onBroken: undefined },
      );
    },
    addressesFor: (caller) => told.get(caller) ?? {},
    async stop() {
      connection?.close();
      for (const server of servers) await server.stop(1_000);
    },
  };
}

const variableOf = (provider: Provider) => `WHARF_${provider.toUpperCase()}_ADDR`;
