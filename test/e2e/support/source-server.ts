import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server of files, some of which come in a way of their own. */
export interface SourceServer {
  readonly url: string;
  /** What is served under a path. */
  readonly files: Map<string, Buffer>;
  /** Paths that lead elsewhere. */
  readonly redirects: Map<string, string>;
  /** Bytes a second for one connection; 0: as fast as it goes. */
  bytesPerSecond: number;
  /** Bytes of bodies so far. */
  sentBytes(): number;
  close(): Promise<void>;
}

const CHUNK_BYTES = 64 * 1024;

export async function startSourceServer(): Promise<SourceServer> {
  const files = new Map<string, Buffer>();
  const redirects = new Map<string, string>();
  let sent = 0;
  const server = http.createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? '/').split('?')[0] ?? '/');
    const elsewhere = redirects.get(path);
    if (elsewhere !== undefined) return void response.writeHead(302, { Location: elsewhere }).end();
    const content = files.get(path);
    if (!content) return void response.writeHead(404).end();
    void send(request, response, content).catch(() => response.destroy());
  });
  const source: SourceServer = {
    url: '',
    files,
    redirects,
    bytesPerSecond: 0,
    sentBytes: () => sent,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const send = async (request: http.IncomingMessage, response: http.ServerResponse, content: Buffer) => {
    response.setMaxListeners(0);
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    const start = Number(range?.[1] ?? 0);
    const end = range?.[2] ? Math.min(Number(range[2]), content.length - 1) : content.length - 1;
    response.writeHead(range ? 206 : 200, {
      ETag: `"${content.length}"`,
      'Content-Length': String(end - start + 1),
      ...(range ? { 'Content-Range': `bytes ${start}-${end}/${content.length}` } : { 'Accept-Ranges': 'bytes' }),
    });
    for (let at = start; at <= end && !response.destroyed; ) {
      const chunk = content.subarray(at, Math.min(at + CHUNK_BYTES, end + 1));
      at += chunk.length;
      sent += chunk.length;
      if (!response.write(chunk)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
      if (source.bytesPerSecond > 0) await new Promise((resolve) => setTimeout(resolve, (chunk.length / source.bytesPerSecond) * 1000));
    }
    response.end();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(source, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
