import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { createPlainServer } from '@wharf/pace';

/** One content that is handed out once, to who knows its address. */
export interface UploadSource {
  readonly url: string;
  /** Why the content ended early. */
  readonly failure: { readonly error: unknown } | undefined;
  /** @returns when the content has ended */
  close(): Promise<void>;
}

/** Serves a content on loopback. Where it is cut off, so is the answer, which has a length. */
export async function openUploadSource(
  content: AsyncIterable<Uint8Array>,
  sizeBytes: number,
  signal: AbortSignal | undefined,
): Promise<UploadSource> {
  const path = `/${randomBytes(32).toString('base64url')}`;
  let failure: { readonly error: unknown } | undefined;
  let sending: Promise<void> | undefined;
  const server = createPlainServer((request, response) => {
    if (request.url !== path || request.method !== 'GET' || sending) return void response.writeHead(404).end();
    response.writeHead(200, { 'Content-Length': sizeBytes, 'Content-Type': 'application/octet-stream', Connection: 'close' });
    sending = pipeline(
      // Each piece is lent: it has left when the next one is asked for.
      async function* () {
        try {
          for await (const piece of content) yield Buffer.from(piece);
        } catch (error) {
          failure = { error };
          throw error;
        }
      },
      response,
      signal ? { signal } : {},
    ).catch(() => void response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // Such as that no file handle is left for a connection: the next one may have one.
  server.on('error', () => undefined);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    get failure() {
      return failure;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      // Whoever gave it waits for its end.
      if (sending) await sending;
      else await content[Symbol.asyncIterator]().return?.();
    },
  };
}
