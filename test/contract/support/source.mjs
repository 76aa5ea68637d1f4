// A source of downloads in a container of its own: GET /<bytes>/<bytes a second for each connection, 0 for no limit>/<name>, also by ranges.
// Every file is the same block of random bytes over and over, which /block answers; so whoever fetches one can tell what it must be.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

const PORT = 8000;
const BLOCK = randomBytes(64 * 1024);
const PIECE_BYTES = 16 * 1024;

createServer((request, response) => {
  if (request.url === '/block') return void response.end(BLOCK);
  const [, size, rate] = (request.url ?? '').split('/').map(Number);
  if (!(size >= 0 && rate >= 0)) return void response.writeHead(404).end();
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const start = Number(range?.[1] ?? 0);
  const end = range?.[2] ? Math.min(Number(range[2]), size - 1) : size - 1;
  response.writeHead(range ? 206 : 200, {
    ...{ ETag: `"${size}"`, 'Accept-Ranges': 'bytes', 'Content-Length': end - start + 1 },
    ...(range && { 'Content-Range': `bytes ${start}-${end}/${size}` }),
  });
  if (request.method === 'HEAD') return void response.end();
  void send(response, start, end, rate);
}).listen(PORT, '0.0.0.0');

async function send(response, start, end, rate) {
  const beganAt = performance.now();
  for (let at = start; at <= end && !response.destroyed; ) {
    const from = at % BLOCK.length;
    const piece = BLOCK.subarray(from, Math.min(from + PIECE_BYTES, from + end + 1 - at));
    at += piece.length;
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    if (rate === 0) continue;
    const aheadMs = ((at - start) / rate) * 1000 - (performance.now() - beganAt);
    if (aheadMs > 0) await new Promise((resolve) => setTimeout(resolve, aheadMs));
  }
  response.end();
}
