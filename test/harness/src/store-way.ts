import { createServer, type Server, Socket } from 'node:net';

/** A way to a store on which its messages are seen as they pass. */
export interface StoreWay {
  /** As the store's own, of this way; databases and options are kept. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Who hears the whole messages of one connection, headers included. */
export interface StoreWatcher {
  asked(message: Buffer): void;
  answered?(message: Buffer): void;
}

const HEADER_BYTES = 16;
const OP_MSG = 2013;
/** Where the document of a command stands in its message: behind the header, flags, and the kind of the first section. */
export const COMMAND_AT = HEADER_BYTES + 5;

/** Whether a message of the MongoDB wire protocol is a command, or the answer to one. */
export function isCommand(message: Buffer): boolean {
  return message.readInt32LE(12) === OP_MSG;
}

/**
 * @param store its address, of a port or a socket
 * @param watch asked once for each connection
 */
export async function startStoreWay(store: string, watch: () => StoreWatcher): Promise<StoreWay> {
  const target = new URL(store);
  /** Of a socket, where the store listens on one. */
  const path = decodeURIComponent(target.hostname);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = new Socket();
    if (path.startsWith('/')) upstream.connect({ path });
    else upstream.connect(Number(target.port), target.hostname);
    const watcher = watch();
    client.on('data', readMessages(watcher.asked));
    if (watcher.answered) upstream.on('data', readMessages(watcher.answered));
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true).pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  return {
    url: `mongodb://127.0.0.1:${await listen(server)}${target.pathname}${target.search}`,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function listen(server: Server): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once('error', reject).listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address === 'object' && address !== null) resolve(address.port);
  });
  return promise;
}

/** Puts whole messages together: each begins with its length. */
function readMessages(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  let kept: Buffer = Buffer.alloc(0);
  return (chunk) => {
    kept = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
    while (kept.length >= HEADER_BYTES && kept.length >= kept.readInt32LE(0)) {
      const length = kept.readInt32LE(0);
      onMessage(kept.subarray(0, length));
      kept = kept.subarray(length);
    }
  };
}
