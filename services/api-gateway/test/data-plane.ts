import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { generateContent } from '@wharf/harness';
import { type HttpListener, listenHttp } from '@wharf/service-kit';

export const CONTENT_SEED = 'gateway';

/** A small real server in the place of the data plane of fs. */
export interface DataPlane extends HttpListener {
  /** The headers of the requests so far. */
  readonly seen: IncomingHttpHeaders[];
  /** Requests whose client went away before the end, by path. */
  readonly aborted: string[];
  /** Whether an upload has begun that takes nothing any more. */
  isStalled(): boolean;
  /** Lets a stalled upload go on. */
  resume(): void;
}

/**
 * `GET /d/bytes/<n>` answers n bytes, `GET /d/endless` never ends, `PUT` answers size and digest of the body; a `File-Path` of `/stall`
 * takes nothing after its first bytes, one of `/refuse` is refused without reading.
 */
export async function startDataPlane(): Promise<DataPlane> {
  const seen: IncomingHttpHeaders[] = [];
  const aborted: string[] = [];
  let stalled: IncomingMessage | undefined;
  const upload = (request: IncomingMessage, response: ServerResponse) => {
    const hash = createHash('sha256');
    let received = 0;
    const stalls = request.headers['file-path'] === '/stall';
    if (request.headers['file-path'] === '/refuse')
      return void response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"code":403}');
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      hash.update(chunk);
      if (stalls && stalled !== request) {
        stalled = request;
        request.pause();
      }
    });
    request.on('end', () => response.end(JSON.stringify({ sizeBytes: received, sha256: hash.digest('hex') })));
  };
  const listener = await listenHttp(
    (request, response) => {
      const path = request.url ?? '';
      seen.push(request.headers);
      response.once('close', () => {
        if (!response.writableFinished) aborted.push(path);
      });
      const size = /^\/d\/bytes\/(\d+)/.exec(path)?.[1];
      if (request.method === 'PUT') return upload(request, response);
      if (path.startsWith('/d/endless')) return void endless(response);
      if (size === undefined) return void response.writeHead(404).end('no such file\n');
      const range = `bytes 0-${Number(size) - 1}/${size}`;
      const from = String(request.socket.remotePort);
      response.writeHead(206, { 'Content-Length': size, 'Content-Range': range, ETag: '"x"', 'X-Asked': path, 'X-From': from });
      if (request.method === 'HEAD') return void response.end();
      Readable.from(generateContent(CONTENT_SEED, Number(size))).pipe(response);
    },
    '127.0.0.1',
    0,
  );
  return { ...listener, seen, aborted, isStalled: () => stalled !== undefined, resume: () => void stalled?.resume() };
}

function endless(response: ServerResponse): void {
  const chunk = Buffer.alloc(64 * 1024);
  const source = new Readable({ read: () => source.push(chunk) });
  response.once('close', () => source.destroy());
  source.pipe(response);
}

/** An address at which nobody listens. */
export async function unusedUrl(): Promise<string> {
  const { url, stop } = await listenHttp(() => {}, '127.0.0.1', 0);
  await stop(0);
  return url;
}
