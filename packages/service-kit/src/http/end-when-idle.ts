import type { ServerResponse } from 'node:http';

/** Five minutes: far longer than any network that still works is silent. */
const IDLE_LIMIT_MS = 300_000;

/**
 * Cuts the connection of a client that neither sends nor takes anything for `limitMs`. Otherwise a client that sleeps would hold files and
 * temporary names for ever. An upload is no longer watched once its last byte is here: the storage may take longer.
 */
export function endWhenIdle(response: ServerResponse, isUpload: boolean, limitMs = IDLE_LIMIT_MS): void {
  const { req: request } = response;
  const { socket } = request;
  // Without a listener for it, the server destroys the socket; it sets its own limit again when the answer is out.
  socket.setTimeout(limitMs);
  if (!isUpload) return;
  request.once('end', () => {
    // Where it is out already, as one that needs no body, the limit is the server's: without it the connection would stay for ever.
    if (!response.writableEnded) socket.setTimeout(0);
  });
}
