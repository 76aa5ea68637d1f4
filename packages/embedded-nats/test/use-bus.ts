import { connect, type Msg, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { connectRaw, type RawClient } from './raw-client.ts';

/** A running server of either kind. */
export interface BusUnderTest {
  readonly url: string;
  readonly token: string;
  stop(): Promise<void>;
  restart(): Promise<void>;
}

/** A server for the tests of one `describe`, and clients that are gone after each of them. */
export function useBus(start: () => Promise<BusUnderTest>) {
  let bus: BusUnderTest;
  const open: NatsConnection[] = [];
  const openRaw: RawClient[] = [];

  beforeAll(async () => {
    bus = await start();
  });
  afterEach(async () => {
    for (const client of openRaw.splice(0)) client.end();
    for (const client of open.splice(0)) if (!client.isClosed()) await client.close();
  });
  afterAll(() => bus.stop());

  async function join(options: NodeConnectionOptions = {}): Promise<NatsConnection> {
    const client = await connect({ servers: bus.url, token: bus.token, reconnectTimeWait: 20, reconnectJitter: 0, ...options });
    open.push(client);
    return client;
  }

  /** Joins byte by byte; without options the connection is only opened. */
  async function joinRaw(options?: object): Promise<RawClient> {
    const client = await connectRaw(bus.url, options === undefined ? undefined : { auth_token: bus.token, ...options });
    openRaw.push(client);
    return client;
  }

  /** Subscribes and keeps what comes. */
  async function listen(client: NatsConnection, subject: string, options: { queue?: string; max?: number } = {}): Promise<Msg[]> {
    const messages: Msg[] = [];
    client.subscribe(subject, {
      ...options,
      callback: (error, message) => {
        if (error === null) messages.push(message);
      },
    });
    await client.flush();
    return messages;
  }

  /** Everything published by `from` before was handed to `to`. */
  async function settle(from: NatsConnection, ...to: NatsConnection[]): Promise<void> {
    await from.flush();
    for (const client of to) await client.flush();
  }

  return { bus: () => bus, join, joinRaw, listen, settle };
}

export type BusClients = ReturnType<typeof useBus>;

export const texts = (messages: readonly Msg[]) => messages.map((message) => message.string());
