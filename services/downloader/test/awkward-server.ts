import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** A file server that answers as badly as the test wants. */
export interface AwkwardServer {
  readonly url: string;
  readonly requests: Array<{ readonly path: string; readonly headers: http.IncomingHttpHeaders }>;
  close(): Promise<void>;
}

export interface Behaviour {
  content: Buffer;
  etag?: string;
  lastModified?: string;
  /** False: Range is ignored. */
  ranges?: boolean;
  /** Cuts the connection after so many bytes of a body; asked for each request. */
  dropAfter?: (request: number) => number | undefined;
  headers?: Record<string, string>;
  /** Answers in its own way; true when it did. */
  handle?: (request: http.IncomingMessage, response: http.ServerResponse, index: number) => boolean | Promise<boolean>;
}

const CHUNK = 64 * 1024;

export async function startAwkwardServer(behaviour: Behaviour): Promise<AwkwardServer> {
  const requests: AwkwardServer['requests'] = [];
  const serve = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const index = requests.push({ path: request.url ?? '', headers: request.headers }) - 1;
    if (await behaviour.handle?.(request, response, index)) return;
    const { content } = behaviour;
    const match = behaviour.ranges === false ? null : /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    const ifRange = request.headers['if-range'];
    const isPartial = match !== null && (ifRange === undefined || ifRange === behaviour.etag);
    const start = isPartial ? Number(match[1]) : 0;
    const end = isPartial && match[2] ? Math.min(Number(match[2]), content.length - 1) : content.length - 1;
    const headers: Record<string, string> = { ...behaviour.headers };
    if (behaviour.etag) headers.ETag = behaviour.etag;
    if (behaviour.lastModified) headers['Last-Modified'] = behaviour.lastModified;
    if (isPartial && start >= content.length) {
      response.writeHead(416, { ...headers, 'Content-Range': `bytes */${content.length}` }).end();
      return;
    }
    response.setMaxListeners(0);
    const body = content.subarray(start, end + 1);
    if (isPartial) headers['Content-Range'] = `bytes ${start}-${end}/${content.length}`;
    response.writeHead(isPartial ? 206 : 200, { 'Content-Length': String(body.length), ...headers });
    const limit = behaviour.dropAfter?.(index) ?? Number.POSITIVE_INFINITY;
    for (let at = 0; at < body.length; ) {
      if (response.destroyed) return;
      if (at >= limit) return void response.destroy();
      const chunk = body.subarray(at, Math.min(at + CHUNK, limit));
      at += chunk.length;
      if (!response.write(chunk)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    }
    response.end();
  };
  const server = http.createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Bytes that differ everywhere, so that a misplaced part is seen. */
export function content(sizeBytes: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(sizeBytes);
  let state = seed >>> 0;
  for (let at = 0; at + 4 <= sizeBytes; at += 4) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes.writeUInt32LE(state, at);
  }
  return bytes;
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
