// Node's own HTTP server and streams: files of the folder in its first argument by GET, and PUT into the folder in its second.
// `GET /looks/<folder>` reads a folder of the first and looks at each entry.
import { createReadStream, createWriteStream, lstatSync, readdirSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

const CHUNK_BYTES = 1024 * 1024;
const [filesDir = '.', uploadsDir = '.'] = process.argv.slice(2);

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(`ready http://127.0.0.1:${port}`);
});

/** One directory read with a look at each entry. */
function lookAtAll(folder: string): number {
  return readdirSync(folder).map((name) => lstatSync(join(folder, name))).length;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const name = decodeURIComponent((request.url ?? '/').slice(1));
  if (request.method === 'PUT') {
    await pipeline(request, createWriteStream(join(uploadsDir, name), { highWaterMark: CHUNK_BYTES, flush: true }));
    response.end('stored');
    return;
  }
  const folder = /^looks\/(\w+)$/.exec(name)?.[1];
  if (folder !== undefined) return void response.end(`entries: ${lookAtAll(join(filesDir, folder))}`);
  const path = join(filesDir, name);
  const { size } = await stat(path);
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const start = Number(range?.[1] ?? 0);
  const end = Math.min(Number(range?.[2] || size), size - 1);
  response.writeHead(range ? 206 : 200, {
    'Accept-Ranges': 'bytes',
    'Content-Type': 'application/octet-stream',
    'Content-Length': end - start + 1,
    ...(range ? { 'Content-Range': `bytes ${start}-${end}/${size}` } : {}),
  });
  await pipeline(createReadStream(path, { start, end, highWaterMark: CHUNK_BYTES }), response);
}
