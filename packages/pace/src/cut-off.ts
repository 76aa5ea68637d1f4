import type { Socket } from 'node:net';

/** The answer to Node's parser that nothing behind a head is HTTP. */
const ANOTHER_PROTOCOL = 2;

/**
 * Ends a connection of an HTTP server, and the reading of what has come on it. Node would make requests and answers of all the rest of a piece of 64 KiB, up
 * to 3,600, and hold them until it has read what there is on all other connections: some hundred connections would hold up everybody for long, or take all
 * of the heap.
 */
export function cutOff(socket: Socket): void {
  socket.destroy();
  const parser: unknown = Reflect.get(socket, 'parser');
  // What Node's parser asks about each head; told that another protocol follows, it reads no further.
  if (typeof parser === 'object' && parser !== null) Reflect.set(parser, 'onIncoming', () => ANOTHER_PROTOCOL);
}
