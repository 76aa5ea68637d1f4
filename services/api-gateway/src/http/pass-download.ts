import { lookup } from 'node:dns';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type BulkConnections, createBulkConnections } from '@wharf/egress';
import { passedHeaders } from './hop-by-hop.ts';

/** What waits for a client of a download, in bytes, beside what it is just taking. */
const PIECE_BYTES = 128 * 1024;
/** How long a connection to the data plane is kept that nobody uses, in milliseconds: less than the data plane keeps it. */
const IDLE_MS = 30_000;

/**
 * Asks the data plane for what a client downloads, and hands it on in buffers that are used again.
 *
 * @returns false: nothing was answered, because only the framing of the answer tells its length
 * @throws what sockets throw; the client has no answer then, or half of one
 */
export type PassDownload = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

/** @param url of the data plane */
export function createPassDownload(url: string): { readonly pass: PassDownload } & Pick<BulkConnections, 'close'> {
  const plane = new URL(url);
  const bulk = createBulkConnections(() => lookup, IDLE_MS, { remembersUnsuited: false, pieceBytes: PIECE_BYTES });
  return {
    async pass(request, response) {
      const gone = new AbortController();
      const leave = () => gone.abort();
      response.once('close', leave);
      const answer = await bulk.ask({
        url: plane,
        target: request.url ?? '/',
        method: 'GET',
        headers: headersOf(request),
        body: undefined,
        signal: gone.signal,
        onConnected() {},
        onSent() {},
      });
      response.off('close', leave);
      if (!answer) return false;
      // One that was sent whole ends by itself, below: its connection is used again.
      response.once('close', () => {
        if (!response.writableFinished) answer.destroy();
      });
      if (response.destroyed) {
        answer.destroy();
        return true;
      }
      const headers = passedHeaders(answer.headers);
      response.writeHead(answer.statusCode ?? 0, headers);
      let missingBytes = Number(headers['content-length'] ?? 0);
      // A piece is lent until the next one is asked for: by then the system has it.
      for await (const piece of answer) {
        missingBytes -= piece.byteLength;
        if (response.destroyed) break;
        await sent(response, piece, missingBytes <= 0);
      }
      if (!response.writableEnded) response.end();
      return true;
    },
    close: bulk.close,
  };
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(passedHeaders(headers))) if (value !== undefined) passed[name] = String(value);
  return passed;
}

/** Resolves when the system has a piece, or nobody takes it any more. The last one ends the answer, together with the head where it is the first. */
function sent(response: ServerResponse, piece: Uint8Array, isLast: boolean): Promise<void> {
  return new Promise((resolve) => {
    response.once('close', resolve);
    const onSent = () => {
      response.off('close', resolve);
      resolve();
    };
    if (isLast) response.end(piece, onSent);
    else response.write(piece, onSent);
  });
}
