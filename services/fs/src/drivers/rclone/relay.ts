import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

import { AppError } from '@wharf/errors';
import { closeTogether } from '@wharf/pace';

/**
 * A connection that carries nothing for so long is closed: rclone keeps those it has done with for as long as anything else is open, and after cancelled
 * transfers for ever. Longer than a reader may take nothing, whose file is open meanwhile.
 */
const IDLE_MS = 330_000;
/** Connections of a relay at a time: each takes two handles of the process, whoever of this machine makes it. */
const MAX_CONNECTIONS = 1_000;

/** A port of this machine that leads to one server. */
export interface Relay {
  readonly port: number;
  /** Why the last connection did not come about; undefined: it did. */
  readonly failure: AppError | undefined;
  /** Takes no more connections. Those that are there go on. */
  retire(): void;
  /** Ends all connections. Safe twice. */
  close(): void;
}

/**
 * Opens a port on loopback whose connections are passed on. So each of them is asked of the policy when it is made, whatever rclone is told, and all end
 * with the storage.
 *
 * @param connect makes a connection to the server
 * @param join joins the two ends; default: all that comes is passed on as it is, and ends that are idle are closed
 */
export async function openRelay(
  connect: (signal: AbortSignal) => Promise<Socket>,
  join: (inner: Socket, outer: Socket) => void = joinPlainly(),
): Promise<Relay> {
  const closing = new AbortController();
  const open = new Set<Socket>();
  let failure: AppError | undefined;
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket)).on('error', () => undefined);
  };
  const pass = async (inner: Socket) => {
    keep(inner);
    try {
      const outer = await connect(closing.signal);
      keep(outer);
      failure = undefined;
      closeTogether(inner, outer);
      if (inner.destroyed || closing.signal.aborted) outer.destroy();
      else join(inner, outer);
    } catch (error) {
      if (AppError.is(error)) failure = error;
      inner.resetAndDestroy();
    }
  };
  const server = createServer({ noDelay: true }, (inner) => void pass(inner));
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // Such as that no file handle is left for a connection: the next one may have one.
  server.on('error', () => undefined);
  return {
    port: (server.address() as AddressInfo).port,
    get failure() {
      return failure;
    },
    retire: () => void server.close(),
    close() {
      closing.abort();
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** Passes on all that comes. @param idleMs after which both ends are closed. @internal for its test */
export function joinPlainly(idleMs = IDLE_MS): (inner: Socket, outer: Socket) => void {
  return (inner, outer) => {
    inner.setTimeout(idleMs, () => inner.destroy());
    inner.pipe(outer).pipe(inner);
  };
}
