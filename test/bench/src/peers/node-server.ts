// Node's own HTTP server and streams: files of the folder in its first argument by GET, and PUT into the folder in its second: a new file that is synced,
// gets its name, and is answered when the folder is synced too, once for all who wait.
// `GET /looks/<folder>` reads a folder of the first and looks at each entry.
import { createReadStream, createWriteStream, lstatSync, readdirSync } from 'node:fs';
import { open, rename, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

const CHUNK_BYTES = 1024 * 1024;
const [filesDir = '.', uploadsDir = '.'] = process.argv.slice(2);
const syncNames = sharedSync(uploadsDir);
let uploads = 0;

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

/** Makes the names of a folder durable. Those who ask while a sync runs share the next one. */
function sharedSync(folder: string): () => Promise<void> {
  const sync = async () => {
    const handle = await open(folder);
    await handle.sync().finally(() => handle.close());
  };
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    next ??= last = last.then(() => {
      next = undefined;
      return sync();
    });
    return next;
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const name = decodeURIComponent((request.url ?? '/').slice(1));
  if (request.method === 'PUT') {
    uploads += 1;
    const temporary = join(uploadsDir, `.upload-${uploads}`);
    await pipeline(request, createWriteStream(temporary, { flags: 'wx', highWaterMark: CHUNK_BYTES, flush: true }));
    await rename(temporary, join(uploadsDir, name));
    await syncNames();
    response.end('stored');
    return;
  }
  const folder = /^looks\/(\w+)$/.exec(name)?.[1];
  if (folder !== undefined) return void response.end(`entries: ${lookAtAll(join(filesDir, folder))}`);
  const path = join(filesDir, name);
  const { size, mtimeMs } = await stat(path);
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const start = Number(range?.[1] ?? 0);
  const end = Math.min(Number(range?.[2] || size), size - 1);
  response.writeHead(range ? 206 : 200, {
    'Accept-Ranges': 'bytes',
    // Without it nobody could tell that parts are of one file.
    ETag: `"${size}-${mtimeMs}"`,
    'Content-Type': 'application/octet-stream',
    'Content-Length': end - start + 1,
    ...(range ? { 'Content-Range': `bytes ${start}-${end}/${size}` } : {}),
  });
  await pipeline(createReadStream(path, { start, end, highWaterMark: CHUNK_BYTES }), response);
}
