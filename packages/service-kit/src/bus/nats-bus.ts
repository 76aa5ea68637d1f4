import type { NatsConnection } from '@nats-io/transport-node';
import { within } from '../within.ts';
import type { Bus, OnBusError, Subject } from './bus.ts';
import { readEvent } from './read-event.ts';

/** Pause between tries to reach the server, in milliseconds. */
const RECONNECT_WAIT_MS = 500;
/** How often the server is asked whether it is still there, in milliseconds: one that does not answer twice is left, and looked for anew. */
const PING_MS = 10_000;
const MAX_PINGS_OUT = 2;
/** How long a change waits until its event is on its way, in milliseconds. */
const SENT_MS = 100;
/** How long closing waits for what is on its way, in milliseconds. */
const DRAIN_MS = 1_000;

/**
 * The bus over NATS. It answers at once and connects in the background, for as long as it takes: without a server events are dropped, and
 * caches are refreshed by their age instead.
 *
 * @param url `nats://host:port`, with `token@` or `user:password@` before the host where the server asks for it.
 * @param pingMs another than the standard one is for tests
 */
export function createNatsBus(url: string, name: string, onError: OnBusError, pingMs = PING_MS): Bus {
  const subscriptions: Array<(connection: NatsConnection) => void> = [];
  let connection: NatsConnection | undefined;
  let closed = false;
  let isUp = false;

  const options = {
    ...address(url),
    name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_WAIT_MS,
    pingInterval: pingMs,
    maxPingOut: MAX_PINGS_OUT,
    waitOnFirstConnect: true,
    // By default a server that refuses two logins in a row is never asked again: one whose logins are not loaded yet does so.
    ignoreAuthErrorAbort: true,
  };
  // Loaded where there is a server to talk to.
  const connecting = import('@nats-io/transport-node').then(({ connect }) => connect(options));
  connecting.then(
    (made) => {
      if (closed) return void made.close();
      connection = made;
      isUp = true;
      for (const attach of subscriptions) attach(made);
      void watch(made);
    },
    (error) => onError(error, 'connect'),
  );

  async function watch(made: NatsConnection) {
    for await (const status of made.status()) {
      if (status.type === 'disconnect' || status.type === 'staleConnection') isUp = false;
      if (status.type === 'reconnect') isUp = true;
    }
    isUp = false;
  }

  return {
    publish(subject, event) {
      if (!connection || connection.isClosed()) return;
      try {
        connection.publish(subject.name, JSON.stringify(event));
      } catch (error) {
        onError(error, subject.name);
      }
    },
    async sent() {
      if (!connection || !isUp) return;
      // The server answers when it has passed on what came before.
      await within(SENT_MS, connection.flush(), 'the bus stands still').catch(() => undefined);
    },
    subscribe<Event>(subject: Subject<Event>, handler: (event: Event) => void) {
      const attach = (made: NatsConnection) => {
        made.subscribe(subject.name, {
          callback: (error, message) => {
            try {
              if (error) throw error;
              handler(readEvent(subject, message.data));
            } catch (cause) {
              onError(cause, subject.name);
            }
          },
        });
      };
      subscriptions.push(attach);
      if (connection) attach(connection);
    },
    isConnected: () => isUp,
    async close() {
      closed = true;
      if (!connection) return;
      // A server that has gone takes nothing any more.
      const drained = connection.drain().catch(() => {});
      await Promise.race([drained, new Promise((resolve) => setTimeout(resolve, DRAIN_MS).unref())]);
      await connection.close();
    },
  };
}

/** NATS wants credentials beside the address, not in it. */
function address(url: string) {
  const { host, username, password } = new URL(url);
  const user = decodeURIComponent(username);
  if (user === '') return { servers: host };
  return password === '' ? { servers: host, token: user } : { servers: host, user, pass: decodeURIComponent(password) };
}
