import type { ServerResponse } from 'node:http';
import { startHttpServer } from '@wharf/harness';
import { drained } from '@wharf/pace';
import { onTestFinished } from 'vitest';
import { startHostile as startFtp } from '../ftp/hostile-server.ts';
import { itemsOf as ftpItems } from '../ftp/open-ftp.ts';
import { startHostile as startSftp } from '../sftp/hostile-server.ts';

/** What a server lists of a folder. */
export interface Listed {
  /** Undefined: without end. */
  readonly entries: number | undefined;
  /** Of the entry with this number. */
  readonly name: (index: number) => string;
  /** What the server has of other text for each entry, in characters, as far as its protocol has a place for it. */
  readonly padding: number;
}

/** A storage whose server lists what `of` says of each folder. */
export interface EndlessStorage {
  readonly driver: string;
  readonly addition: Record<string, unknown>;
}

/** @param of a name of a folder right below the root */
type Start = (of: (folder: string) => Listed) => Promise<EndlessStorage>;

const DATE = 'Sun, 22 Nov 2026 19:00:00 GMT';
const ISO_DATE = '2026-11-22T19:00:00.000Z';
/** Entries that are sent together. */
const BATCH = 100;

/** Sends entries until all are sent, or nobody takes them any more. */
async function send(
  response: ServerResponse,
  { entries = Number.POSITIVE_INFINITY }: Listed,
  entry: (index: number) => string,
): Promise<void> {
  for (let from = 0; from < entries && !response.destroyed; from += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, entries - from) }, (_, index) => entry(from + index));
    if (!response.write(batch.join(''))) await drained(response);
  }
}

const folderOf = (path: string) =>
  path
    .split('/')
    .filter((part) => part !== '')
    .at(-1) ?? '';
const EMPTY: Listed = { entries: 0, name: String, padding: 0 };

/** Servers of all protocols, by what their storages are called. They end with their test. */
export const ENDLESS_SERVERS: Readonly<Record<string, Start>> = {
  async S3(of) {
    const server = await startHttpServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://store');
      if (request.method !== 'GET') return void response.writeHead(request.method === 'HEAD' ? 404 : 403).end();
      const prefix = searchParams.get('prefix') ?? '';
      const listed = prefix === '' || prefix.startsWith('.') ? EMPTY : of(folderOf(prefix));
      const from = Number(searchParams.get('continuation-token') ?? 0);
      const to = Math.min(from + 1000, listed.entries ?? Number.POSITIVE_INFINITY);
      const contents = Array.from(
        { length: to - from },
        (_, index) =>
          `<Contents><Key>${prefix}${listed.name(from + index)}</Key><Padding>${'x'.repeat(listed.padding)}</Padding><Size>5000000000</Size><LastModified>${ISO_DATE}</LastModified><ETag>"${String(from + index).padStart(32, '0')}"</ETag></Contents>`,
      );
      const isMore = to < (listed.entries ?? Number.POSITIVE_INFINITY);
      response.end(
        `<ListBucketResult><IsTruncated>${isMore}</IsTruncated><NextContinuationToken>${to}</NextContinuationToken>${contents.join('')}</ListBucketResult>`,
      );
    });
    onTestFinished(() => server.stop());
    return {
      driver: 'S3',
      addition: {
        root_folder_path: '/',
        bucket: 'b',
        endpoint: server.url,
        access_key_id: 'AK',
        secret_access_key: 'secret',
        list_object_version: 'v2',
      },
    };
  },

  async WebDav(of) {
    const entry = (href: string, type: string, padding: number, etag: string) =>
      `<D:response><D:href>${href}</D:href><D:padding>${'x'.repeat(padding)}</D:padding><D:propstat><D:prop><D:resourcetype>${type}</D:resourcetype><D:getcontentlength>5000000000</D:getcontentlength><D:getlastmodified>${DATE}</D:getlastmodified><D:getetag>"${etag}"</D:getetag></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>`;
    const server = await startHttpServer(async (request, response) => {
      if (request.headers.authorization === undefined) return void response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end();
      if (request.method !== 'PROPFIND') return void response.writeHead(403).end();
      const folder = folderOf(request.url?.replace('/dav', '') ?? '');
      response.writeHead(207).write(`<D:multistatus xmlns:D="DAV:">${entry(request.url ?? '', '<D:collection/>', 0, 'x')}`);
      if (folder !== '' && request.headers.depth === '1') {
        const listed = of(folder);
        await send(response, listed, (index) =>
          entry(`/dav/${folder}/${encodeURIComponent(listed.name(index))}`, '', listed.padding, String(index).padStart(32, '0')),
        );
      }
      response.end('</D:multistatus>');
    });
    onTestFinished(() => server.stop());
    return { driver: 'WebDav', addition: { address: `${server.url}/dav`, username: 'u', password: 'secret', root_folder_path: '/' } };
  },

  async OpenList(of) {
    const entry = (name: string, more: object = {}) => ({
      ...{ name, size: 5_000_000_000, is_dir: false, modified: ISO_DATE, created: '2026-11-21T19:00:00.000Z' },
      hashinfo: JSON.stringify({ md5: 'a'.repeat(32), sha1: 'b'.repeat(40), sha256: 'c'.repeat(64) }),
      ...more,
    });
    const root = { ...entry('root'), is_dir: true, raw_url: '', provider: 'unknown' };
    const server = await startHttpServer(async (request, response) => {
      let body = '';
      for await (const piece of request) body += piece;
      const say = (data: unknown) => void response.end(JSON.stringify({ code: 200, message: 'success', data }));
      if (request.url === '/api/me') return say({ username: 'u', role: 0 });
      if (request.url !== '/api/fs/list') return say(root);
      const { path } = JSON.parse(body) as { path: string };
      const listed = path === '/' ? EMPTY : of(folderOf(path));
      response.write('{"code":200,"message":"success","data":{"total":1,"content":[');
      await send(
        response,
        listed,
        (index) => `${index === 0 ? '' : ','}${JSON.stringify(entry(listed.name(index), { thumb: 'x'.repeat(listed.padding) }))}`,
      );
      response.end(']}}');
    });
    onTestFinished(() => server.stop());
    return { driver: 'OpenList', addition: { url: server.url, token: 'secret', root_folder_path: '/' } };
  },

  async FTP(of) {
    const server = await startFtp({
      reply: (verb, argument) =>
        verb === 'MLST' && !/wharf/i.test(argument) ? `250-it is\r\n type=dir;modify=20210304050607; ${argument}\r\n250 End` : undefined,
      *data(_verb, argument) {
        const folder = folderOf(argument);
        const listed = folder === 'root' ? EMPTY : of(folder);
        const { entries = Number.POSITIVE_INFINITY } = listed;
        for (let from = 0; from < entries; from += BATCH) {
          const lines = Array.from(
            { length: Math.min(BATCH, entries - from) },
            (_, index) =>
              `type=file;size=5000000000;modify=20210304050607;unique=${String(from + index).padStart(32, '0')};x=${'x'.repeat(listed.padding)}; ${listed.name(from + index)}\r\n`,
          );
          yield Buffer.from(lines.join(''));
        }
      },
    });
    return { driver: 'FTP', addition: ftpItems(server) };
  },

  async SFTP(of) {
    const addition = await startSftp({
      isFolder: (path) => path.split('/').length <= 3,
      names(request, path) {
        const folder = folderOf(path);
        const listed = folder === 'root' ? EMPTY : of(folder);
        const to = Math.min((request + 1) * BATCH, listed.entries ?? Number.POSITIVE_INFINITY);
        const names = Array.from({ length: Math.max(0, to - request * BATCH) }, (_, index) => listed.name(request * BATCH + index));
        return names.length === 0 ? undefined : names;
      },
    });
    return { driver: 'SFTP', addition };
  },

  async Rclone(of) {
    const server = await startHttpServer(async (request, response) => {
      let body = '';
      for await (const piece of request) body += piece;
      const asked = JSON.parse(body === '' ? '{}' : body) as { remote?: string };
      const item = (name: string, IsDir: boolean) =>
        JSON.stringify({ Path: name, Name: name, Size: 5_000_000_000, MimeType: 'x', ModTime: ISO_DATE, IsDir });
      switch (request.url) {
        case '/config/providers':
          return void response.end(
            JSON.stringify({ providers: [{ Name: 'pcloud', Prefix: 'pcloud', Description: 'a cloud', Options: [] }] }),
          );
        case '/operations/fsinfo':
          return void response.end(JSON.stringify({ Features: { CanHaveEmptyDirectories: true }, Hashes: [] }));
        case '/operations/stat':
          return void response.end(`{"item":${item(folderOf(asked.remote ?? '') || 'root', true)}}`);
        case '/operations/list': {
          const folder = folderOf(asked.remote ?? '');
          const listed = folder === '' || folder === 'root' ? EMPTY : of(folder);
          response.write('{"list":[');
          await send(response, listed, (index) => `${index === 0 ? '' : ','}${item(listed.name(index), false)}`);
          return void response.end(']}');
        }
        default:
          return void response.end('{}');
      }
    });
    onTestFinished(() => server.stop());
    return {
      driver: 'Rclone',
      addition: { type: 'pcloud', root_folder_path: '/root', rcd_url: server.url, rcd_username: 'u', rcd_password: 'secret' },
    };
  },
};
