import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

/** A connection of the store's driver, as far as it is touched here. */
interface DriverConnection {
  readonly socket: Socket;
  destroy(): void;
  /** Throws why the connection ended, if it did. */
  throwIfAborted(): void;
}

type Write = (this: DriverConnection, ...parts: unknown[]) => Promise<void>;

const FILE = 'mongodb/lib/cmap/connection.js';

/**
 * Lets each write of the store's driver end with its connection.
 *
 * The driver waits for room in the socket after a write that was not taken at once. A socket that is closed, and has not said so yet, takes none and never has room, and
 * its timers do not run any more: the driver's own look whether the store is there waited for ever, so that this process found no store until it was restarted.
 */
export function endWritesWithConnections(): void {
  const { prototype } = connectionClass();
  const { writeCommand } = prototype;
  prototype.writeCommand = async function (...parts) {
    if (this.socket.destroyed) this.destroy();
    this.throwIfAborted();
    const { promise: ended, reject } = Promise.withResolvers<never>();
    const onClose = () => {
      try {
        this.throwIfAborted();
      } catch (error) {
        reject(error);
      }
    };
    this.socket.once('close', onClose);
    try {
      await Promise.race([writeCommand.apply(this, parts), ended]);
    } finally {
      this.socket.off('close', onClose);
    }
  };
}

/** The one that mongoose has: the driver does not export it. */
function connectionClass(): { prototype: { writeCommand: Write } } {
  const { Connection } = createRequire(import.meta.resolve('mongoose'))(FILE);
  if (typeof Connection?.prototype?.writeCommand !== 'function') throw new Error(`${FILE} has no writes`);
  return Connection;
}
