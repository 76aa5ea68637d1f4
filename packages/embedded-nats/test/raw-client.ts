import { once } from 'node:events';
import { connect } from 'node:net';
import { waitFor } from '@wharf/harness';

/** Speaks to a NATS server byte by byte. */
export interface RawClient {
  send(text: string | Buffer): void;
  /** Everything received so far, the greeting included. */
  received(): string;
  /** Waits until the received text contains this. */
  receives(text: string): Promise<void>;
  /** Answers all that was received when the server has closed the connection. */
  closed(): Promise<string>;
  /** Stops and resumes reading. */
  pause(): void;
  resume(): void;
  end(): void;
}

/** @param options what is presented in CONNECT at once; without them nothing is sent. */
export async function connectRaw(url: string, options?: object): Promise<RawClient> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  const closed = Promise.withResolvers<string>();
  socket.once('close', () => closed.resolve(text));
  await once(socket, 'data');
  const client: RawClient = {
    send: (data) => void socket.write(data),
    received: () => text,
    async receives(wanted) {
      await waitFor(`${JSON.stringify(wanted)} from the server, which said ${JSON.stringify(text.slice(-500))}`, () =>
        text.includes(wanted),
      );
    },
    closed: () => closed.promise,
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    end: () => void socket.destroy(),
  };
  if (options !== undefined) {
    client.send(`CONNECT ${JSON.stringify({ verbose: false, pedantic: false, ...options })}\r\nPING\r\n`);
    await client.receives('PONG\r\n');
  }
  return client;
}
