import { once } from 'node:events';
import { createWriteStream, utimesSync } from 'node:fs';
import { chmod, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { isMissing, type Missing, startApacheDav, startHttpServer, type WebdavServer } from '@wharf/harness';

/** Where Nextcloud has the files and the uploads of a user. */
const FILES = '/remote.php/dav/files/keeper';
const UPLOADS = /^\/remote\.php\/dav\/uploads\/keeper\/([\w-]+)\/(.*)$/;
const LEAST_CHUNK_BYTES = 5 * 1024 * 1024;
const MOST_CHUNKS = 10_000;
/** Where it tells. */
export const ROOM = { availableBytes: 7_000_000, usedBytes: 3_000_000 };
const PNG_MARK = Buffer.from('\x89PNG', 'latin1');

/**
 * Apache's mod_dav behind a double of what Nextcloud has beside it, which cannot be had here: uploads in chunks, by the rules that its manual has for clients,
 * and small pictures of files that are called `.png`.
 */
export interface NextcloudDouble extends Omit<WebdavServer, 'connections'> {
  /** What of a body is too large for the proxy in front of it. */
  maxBodyBytes: number;
  /** What it says of it in its capabilities; empty: nothing. */
  chunking: string;
  /** The next chunk of this number is not taken. */
  failAt: number | undefined;
  /** The next chunk of this number is answered when some of it has come. */
  answerEarlyAt: number | undefined;
  /** Chunks that were answered. */
  taken: number;
  /** Sizes of the chunks of uploads that became files. */
  readonly chunks: number[][];
  /** Answers in the place of a picture; undefined: the picture itself. */
  picture: ((answer: ServerResponse) => void) | undefined;
  /** What was asked of the pictures, of each in turn. */
  readonly asked: URLSearchParams[];
  /** It tells the room that is left, keeps dates of files that come whole, and the sums that came with them. */
  keepsMore: boolean;
  /** Uploads that were not ended. */
  leftovers(): Promise<string[]>;
}

export async function startNextcloudDouble(): Promise<NextcloudDouble | Missing> {
  const apache = await startApacheDav({ path: FILES });
  if (isMissing(apache)) return apache;
  const { folder: files, host, port } = apache;
  /** Of files, by their addresses, where that is kept. */
  const sums = new Map<string, string>();
  const uploads = join(files, '..', 'uploads');
  await mkdir(uploads);
  const http = await startHttpServer(handle);
  const server: NextcloudDouble = {
    ...apache,
    ...{ url: `${http.url}${FILES}/`, host: http.host, port: http.port },
    ...{
      maxBodyBytes: 100_000_000,
      chunking: '1.0',
      failAt: undefined,
      answerEarlyAt: undefined,
      taken: 0,
      chunks: [],
      picture: undefined,
      keepsMore: false,
      asked: [],
    },
    leftovers: () => readdir(uploads),
    async stop() {
      await http.stop();
      await apache.stop();
    },
  };

  async function handle(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { pathname } = new URL(asked.url ?? '', 'http://nextcloud');
    if (Number(asked.headers['content-length'] ?? 0) > server.maxBodyBytes) return refuse(answer, 413, 'too large for the proxy');
    if (pathname.startsWith(`${FILES}/`)) return asked.method === 'PROPFIND' ? describeEntries(asked, answer) : passOn(asked, answer);
    if (asked.headers.authorization === undefined) return refuse(answer, 401, 'who are you?');
    if (pathname === '/index.php/core/preview.png') return picture(new URL(asked.url ?? '', 'http://nextcloud').searchParams, answer);
    if (pathname === '/ocs/v2.php/cloud/capabilities') return capabilities(asked, answer);
    const [, id = '', name = ''] = UPLOADS.exec(pathname) ?? [];
    if (id === '') return refuse(answer, 404, 'nothing is there');
    return upload(asked, answer, join(uploads, id), name);
  }

  function capabilities(asked: IncomingMessage, answer: ServerResponse): void {
    const isAsked = asked.headers['ocs-apirequest'] === 'true';
    const dav = server.chunking === '' || !isAsked ? {} : { dav: { chunking: server.chunking } };
    answer.setHeader('Content-Type', 'application/json');
    answer.end(JSON.stringify({ ocs: { meta: { status: 'ok' }, data: { version: { major: 31 }, capabilities: dav } } }));
  }

  async function picture(query: URLSearchParams, answer: ServerResponse): Promise<void> {
    server.asked.push(query);
    if (server.picture) return server.picture(answer);
    const content = await readFile(join(files, query.get('file') ?? '')).catch(() => undefined);
    if (content === undefined || !PNG_MARK.equals(content.subarray(0, PNG_MARK.byteLength))) return refuse(answer, 404, 'no picture');
    answer.writeHead(200, { 'Content-Type': 'image/png' }).end(content);
  }

  /** What Apache says, and of each entry whether there is a picture, where that is asked. */
  async function describeEntries(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = await text(asked);
    const headers = { ...asked.headers, 'content-length': String(Buffer.byteLength(body)) };
    const got = await new Promise<IncomingMessage>((resolve, reject) => {
      request({ host, port, path: asked.url, method: asked.method, headers }).once('response', resolve).once('error', reject).end(body);
    });
    const said = await text(got);
    const pictured = body.includes('has-preview') && got.statusCode === 207 ? withPreviews(said) : said;
    const shown = server.keepsMore ? withMore(pictured, sums) : pictured;
    const { 'transfer-encoding': _, ...rest } = got.headers;
    answer.writeHead(got.statusCode ?? 502, { ...rest, 'content-length': String(Buffer.byteLength(shown)) }).end(shown);
  }

  async function upload(asked: IncomingMessage, answer: ServerResponse, folder: string, name: string): Promise<void> {
    if (asked.method === 'DELETE') {
      await rm(folder, { recursive: true, force: true });
      return void answer.writeHead(204).end();
    }
    const destination = URL.parse(String(asked.headers['destination']))?.pathname ?? '';
    if (!destination.startsWith(`${FILES}/`)) return refuse(answer, 400, 'Destination is missing');
    if (asked.method === 'MKCOL' && name === '') {
      await mkdir(folder);
      return void answer.writeHead(201).end();
    }
    if (asked.method === 'PUT') return takeChunk(asked, answer, folder, Number(name));
    if (asked.method === 'MOVE' && name === '.file') {
      const target = join(files, decodeURIComponent(destination.slice(FILES.length)));
      return putTogether(asked, answer, folder, target);
    }
    refuse(answer, 405, 'not allowed');
  }

  async function takeChunk(asked: IncomingMessage, answer: ServerResponse, folder: string, number: number): Promise<void> {
    if (!Number.isInteger(number) || number < 1 || number > MOST_CHUNKS) return refuse(answer, 400, 'no number of a chunk');
    if (server.failAt === number) return refuse(answer, 507, 'full');
    if (server.answerEarlyAt === number) {
      server.answerEarlyAt = undefined;
      await once(asked, 'data');
      return void answer.writeHead(201).end();
    }
    await pipeline(asked, createWriteStream(join(folder, String(number)), { flags: 'w' }));
    answer.writeHead(201).end(() => {
      server.taken += 1;
    });
  }

  async function putTogether(asked: IncomingMessage, answer: ServerResponse, folder: string, target: string): Promise<void> {
    const names = (await readdir(folder)).sort((one, other) => Number(one) - Number(other));
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
    if (sizes.slice(0, -1).some((size) => size < LEAST_CHUNK_BYTES)) return refuse(answer, 400, 'a chunk is too small');
    const total = asked.headers['oc-total-length'];
    if (total !== undefined && Number(total) !== sizes.reduce((sum, size) => sum + size, 0)) return refuse(answer, 400, 'another length');
    const file = await open(target, asked.headers['overwrite'] === 'F' ? 'wx' : 'w').catch(() => undefined);
    if (!file) return refuse(answer, 412, 'something has the name');
    for (const name of names) await file.writeFile(await readFile(join(folder, name)));
    const seconds = asked.headers['x-oc-mtime'];
    if (seconds !== undefined) await file.utimes(Number(seconds), Number(seconds));
    await file.close();
    await chmod(target, 0o666);
    await rm(folder, { recursive: true });
    server.chunks.push(sizes);
    answer.writeHead(201, seconds === undefined ? {} : { 'X-OC-Mtime': 'accepted' }).end();
  }

  async function passOn(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const passed = request({ host, port, path: asked.url, method: asked.method, headers: asked.headers });
    passed.once('response', (got) => {
      const more = server.keepsMore && (got.statusCode ?? 500) < 300 ? keepMore(asked) : {};
      answer.writeHead(got.statusCode ?? 502, { ...got.headers, ...more });
      void pipeline(got, answer).catch(() => undefined);
    });
    await pipeline(asked, passed);
  }

  /** Of a file that has come, or has another name. @returns what is said of it beside what Apache says */
  function keepMore({ method, url = '', headers }: IncomingMessage): Record<string, string> {
    const sum = sums.get(url);
    if (method === 'GET') return sum === undefined ? {} : { 'OC-Checksum': sum };
    if (method === 'MOVE' && sum !== undefined) sums.set(URL.parse(String(headers['destination']))?.pathname ?? '', sum);
    if (method !== 'PUT') return {};
    if (headers['oc-checksum'] !== undefined) sums.set(url, String(headers['oc-checksum']));
    const seconds = headers['x-oc-mtime'];
    if (seconds === undefined) return {};
    utimesSync(join(files, decodeURIComponent(url.slice(FILES.length))), Number(seconds), Number(seconds));
    return { 'X-OC-Mtime': 'accepted' };
  }

  return server;
}

function withPreviews(multistatus: string): string {
  const stated = (is: boolean) =>
    `<D:propstat><D:prop><nc:has-preview xmlns:nc="http://nextcloud.org/ns">${is}</nc:has-preview></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>`;
  return multistatus.replaceAll(/<D:href>([^<]*)<\/D:href>(.*?)<\/D:response>/gs, (_, href: string, properties: string) => {
    const isPicture = href.endsWith('.png') && !properties.includes('<D:collection/>');
    return `<D:href>${href}</D:href>${properties}${stated(isPicture)}</D:response>`;
  });
}

/** With the sums of files, and in folders with the room. */
function withMore(multistatus: string, sums: ReadonlyMap<string, string>): string {
  const propstat = (prop: string) => `<D:propstat><D:prop>${prop}</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>`;
  const room = propstat(
    `<D:quota-available-bytes>${ROOM.availableBytes}</D:quota-available-bytes><D:quota-used-bytes>${ROOM.usedBytes}</D:quota-used-bytes>`,
  );
  return multistatus.replaceAll(/<D:href>([^<]*)<\/D:href>(.*?)<\/D:response>/gs, (_, href: string, properties: string) => {
    const sum = sums.get(href);
    const told =
      sum === undefined ? '' : `<oc:checksums xmlns:oc="http://owncloud.org/ns"><oc:checksum>${sum}</oc:checksum></oc:checksums>`;
    return `<D:href>${href}</D:href>${properties}${properties.includes('<D:collection/>') ? room : propstat(told)}</D:response>`;
  });
}

function refuse(answer: ServerResponse, status: number, why: string): void {
  if (answer.headersSent) return void answer.destroy();
  const challenge = status === 401 ? { 'WWW-Authenticate': 'Basic realm="files"' } : {};
  answer.writeHead(status, { ...challenge, Connection: 'close' }).end(why);
}
