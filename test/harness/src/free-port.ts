import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** A port of 127.0.0.1 that nobody listens on, for programs that cannot choose one themselves. Somebody may take it before they do. */
export async function freePort(): Promise<number> {
  const [port] = await freePortRange(1);
  if (port === undefined) throw new Error('there is no free port');
  return port;
}

const TRIES = 3;

/** Starts something on a free port, again on another one when that fails: the port may be taken. */
export async function onFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await start(await freePort());
    } catch (error) {
      if (tries === TRIES) throw error;
    }
  }
}

/** Below those that the system gives to clients. */
const RANGES = { from: 12_000, to: 30_000 } as const;

/** Ports of 127.0.0.1 in a row that nobody listens on, for programs that are told the first and the last. */
export async function freePortRange(count: number): Promise<readonly number[]> {
  for (;;) {
    const first = randomInt(RANGES.from, RANGES.to);
    const ports = Array.from({ length: count }, (_, index) => first + index);
    const tried = await Promise.allSettled(ports.map(tryPort));
    if (tried.every(({ status }) => status === 'fulfilled')) return ports;
  }
}

async function tryPort(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}
