import type { Channel } from 'nice-grpc';
import type { CallOptions } from 'nice-grpc-common';
import type { RpcDefinition } from './service.ts';

type Unary = (request: never, options?: CallOptions) => Promise<unknown>;
type Streaming = (request: never, options?: CallOptions) => AsyncIterable<unknown>;
type Methods = Record<string, unknown>;

/** Calls over a channel that is replaced by a new one, with new connections, once it has some age. */
export interface ReplacedChannel {
  client<Client>(definition: RpcDefinition): Client;
  close(): void;
}

/**
 * The client replaces its connections, not the server: where a server closes one (`grpc.max_connection_age_ms`) at the moment of a new call, Node
 * breaks it off with a protocol error, and with it all other calls on it. Here a connection closes when its calls have ended and no new ones come.
 *
 * @param createChannel makes a channel that shares its connections with no other one
 */
export function createReplacedChannel(
  createChannel: () => Channel,
  createClient: (definition: RpcDefinition, channel: Channel) => unknown,
  ageMs: number,
): ReplacedChannel {
  let current: AgingChannel | undefined;
  const use = () => {
    if (current && performance.now() < current.endsAt) return current;
    current?.leave();
    current = new AgingChannel(createChannel(), createClient, performance.now() + ageMs);
    return current;
  };
  return {
    client<Client>(definition: RpcDefinition) {
      const client: Methods = {};
      for (const [name, { responseStream }] of Object.entries(definition.methods))
        client[name] = responseStream
          ? async function* (request: never, options?: CallOptions) {
              const channel = use();
              try {
                yield* (channel.begin(definition)[name] as Streaming)(request, options);
              } finally {
                channel.end();
              }
            }
          : async (request: never, options?: CallOptions) => {
              const channel = use();
              try {
                return await (channel.begin(definition)[name] as Unary)(request, options);
              } finally {
                channel.end();
              }
            };
      return client as Client;
    },
    close: () => current?.close(),
  };
}

class AgingChannel {
  readonly endsAt: number;
  readonly #channel: Channel;
  readonly #createClient: (definition: RpcDefinition, channel: Channel) => unknown;
  readonly #clients = new Map<RpcDefinition, Methods>();
  #calls = 0;
  #isLeft = false;

  constructor(channel: Channel, createClient: (definition: RpcDefinition, channel: Channel) => unknown, endsAt: number) {
    this.#channel = channel;
    this.#createClient = createClient;
    this.endsAt = endsAt;
  }

  /** Counts a call until its end(). */
  begin(definition: RpcDefinition): Methods {
    this.#calls += 1;
    const client = this.#clients.get(definition) ?? (this.#createClient(definition, this.#channel) as Methods);
    this.#clients.set(definition, client);
    return client;
  }

  end(): void {
    this.#calls -= 1;
    if (this.#isLeft && this.#calls === 0) this.close();
  }

  /** No more calls begin. */
  leave(): void {
    this.#isLeft = true;
    if (this.#calls === 0) this.close();
  }

  close(): void {
    this.#channel.close();
  }
}
