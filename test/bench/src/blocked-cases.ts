import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, api, at, type HttpRequest, login } from '@wharf/harness';
import type { Fixture } from './fixture.ts';
import type { WharfServer } from './wharf-server.ts';

/** A request, or several at once, beside which pings are timed. */
export interface BlockedCase {
  readonly title: string;
  readonly requests: readonly HttpRequest[];
  /** How long a ping may wait beside it, where that is less than beside others. */
  readonly budgetMs?: number;
}

const CROWD = 60_000;
const TASKS = 2_000;
/** In each of two folders that are shown as one. */
const SHOWN = 5_000;
/** Beside a listing of such folders. */
const SHOWN_BUDGET_MS = 50;
const MIB_4 = 4 * 1024 * 1024;
/** A header of 30 KB is within what the server takes. */
const HEADER = 30_000;
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const JSON_TYPE = { 'content-type': 'application/json' };
/** Every bit but those that see hidden entries and pass passwords. */
const ALL_BUT_SIGHT = 0xffff & ~0b11;

/** Fills a body of almost 4 MiB. */
const fill = (head: string, unit: string, tail: string) =>
  head + unit.repeat(Math.floor((MIB_4 - head.length - tail.length - 16) / unit.length)) + tail;
const five = (request: HttpRequest) => Array.from({ length: 5 }, () => request);
const repeat = (unit: string, length: number) => unit.repeat(Math.floor(length / unit.length));

/** Makes what the requests need and answers them: those that an attack once held Wharf up with, and their like. */
export async function prepareBlockedCases(wharf: WharfServer, { filesDir }: Fixture): Promise<BlockedCase[]> {
  const admin = api(wharf.base, wharf.token);
  await makeCrowd(join(filesDir, 'crowd'));
  const user = await makeUser(wharf, admin);
  const rule = { path: '/local/guarded', hide: '^hidden', h_sub: true, password: 'x', p_sub: true };
  await admin.call('/api/admin/meta/create', rule);
  const link = await wharf.linkTo('/local/small.bin');
  const headers: Record<string, string> = { authorization: user.token ?? '' };
  const asAdmin: Record<string, string> = { authorization: wharf.token };
  const post = (path: string, body: unknown, as = headers): HttpRequest => ({
    method: 'POST',
    path,
    headers: { ...as, ...JSON_TYPE },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return [
    { title: 'nothing', requests: [{ path: '/robots.txt' }] },
    ...bodyCases(post),
    ...headerCases(link, headers),
    ...pathCases(post, headers),
    ...crowdCases(post, headers, asAdmin),
    ...(await shownCases(post, admin, asAdmin, join(filesDir, 'shown'))),
    ...(await taskCases(admin, asAdmin, join(filesDir, '..', `blocked-${wharf.name}`))),
  ];
}

type Post = (path: string, body: unknown, as?: Record<string, string>) => HttpRequest;

function bodyCases(post: Post): BlockedCase[] {
  const form = (body: string, type = FORM): HttpRequest => ({ method: 'POST', path: '/api/auth/login', headers: type, body });
  const part = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n';
  const multipart = { 'content-type': 'multipart/form-data; boundary=b' };
  const combining = '\u0301\u0316';
  return [
    { title: 'form: 4 MB of a&', requests: [form(fill('', 'a&', ''))] },
    { title: 'form: 4 MB of a=b&', requests: [form(fill('', 'a=b&', ''))] },
    { title: 'form: 20,000 fields, five at once', requests: five(form('a&'.repeat(19_999))) },
    { title: 'form: one field of 4 MB of %', requests: [form(fill('username=', '%', ''))] },
    { title: 'multipart: 80,000 parts', requests: [form(fill('', part, '--b--'), multipart)] },
    {
      title: 'multipart: a header of 4 MB',
      requests: [form(fill('--b\r\nContent-Disposition: form-data; name="', '\\"', '"\r\n\r\n\r\n--b--'), multipart)],
    },
    { title: 'JSON: two million wrong items', requests: [post('/api/fs/remove', fill('{"dir":"/","names":[0', ',0', ']}'))] },
    {
      title: 'JSON: 49,000 wrong items, five at once',
      requests: five(post('/api/fs/remove', `{"dir":"/","names":[${'0,'.repeat(49_000)}0]}`)),
    },
    { title: 'JSON: two million deep', requests: [post('/api/fs/other', fill('{"data":', '[', ''))] },
    {
      title: 'JSON: 49,000 keys, five at once',
      requests: five(post('/api/auth/login', `{${Array.from({ length: 49_000 }, (_, index) => `"k${index}":0`).join(',')}}`)),
    },
    {
      title: 'login: a name of 4 MB of combining characters',
      requests: [post('/api/auth/login', { username: fill('a', 'x', '').slice(0, 1) + combining.repeat(900_000), password: 'x' })],
    },
    { title: 'login: a password of 4 MB', requests: [post('/api/auth/login', { username: 'admin', password: 'x'.repeat(4_000_000) })] },
    { title: 'list: a path of 4 MB of a/', requests: [post('/api/fs/list', { path: 'a/'.repeat(2_000_000) })] },
    { title: 'list: a path of 4 MB of combining characters', requests: [post('/api/fs/list', { path: combining.repeat(900_000) })] },
    {
      title: 'remove: 10,000 names of 400 bytes',
      requests: [
        post('/api/fs/remove', { dir: '/local', names: Array.from({ length: 10_000 }, (_, index) => `${index}${'x'.repeat(395)}`) }),
      ],
    },
    {
      title: 'remove: 10,000 names that are not there',
      requests: [post('/api/fs/remove', { dir: '/local', names: Array.from({ length: 10_000 }, (_, index) => `none ${index}`) })],
    },
    {
      title: 'batch_rename: 10,000 names of combining characters',
      requests: [
        post('/api/fs/batch_rename', {
          src_dir: '/local/crowd',
          rename_objects: Array.from({ length: 10_000 }, (_, index) => ({
            src_name: `none ${index}`,
            new_name: `${combining.repeat(60)}${index}`,
          })),
        }),
      ],
    },
    {
      title: 'search: 4 MB of keywords',
      requests: [post('/api/fs/search', { parent: '/', keywords: 'a '.repeat(2_000_000), in_folder: true, page: 1, per_page: 100 })],
    },
    {
      title: 'regex_rename: a pattern of 4 MB',
      requests: [post('/api/fs/regex_rename', { src_dir: '/local/crowd', src_name_regex: 'a?'.repeat(2_000_000), new_name_regex: 'b' })],
    },
    {
      title: 'offline download: 10,000 addresses of 400 bytes',
      requests: [
        post('/api/fs/add_offline_download', {
          path: '/local',
          tool: 'SimpleHttp',
          urls: Array.from({ length: 10_000 }, (_, index) => `http://192.0.2.1/${index}?${'a&'.repeat(180)}`),
        }),
      ],
    },
    {
      title: 'offline download: an address of 4 MB',
      requests: [
        post('/api/fs/add_offline_download', { path: '/local', tool: 'SimpleHttp', urls: [`magnet:?${'xt&'.repeat(1_300_000)}`] }),
      ],
    },
    { title: 'SSH key: 16 KB of quotes', requests: [post('/api/me/sshkey/add', { title: 'x', key: `"${'\\"'.repeat(8_000)}` })] },
  ];
}

function headerCases(link: string, headers: Record<string, string>): BlockedCase[] {
  const get = (more: Record<string, string>, path = link): HttpRequest => ({ path, headers: more });
  return [
    { title: 'query: 30 KB of a&', requests: five({ path: `/api/fs/list?${repeat('a&', HEADER)}`, headers }) },
    { title: 'query of a link: 30 KB of a&', requests: five({ path: `${link}&${repeat('a&', HEADER)}` }) },
    { title: 'cookie: 30 KB', requests: five({ path: '/api/me', headers: { ...headers, cookie: repeat('a=b; ', HEADER) } }) },
    { title: 'token: 30 KB', requests: five({ path: '/api/me', headers: { authorization: repeat('a.', HEADER) } }) },
    {
      title: 'forwarded for: 30 KB',
      requests: five({ path: '/api/me', headers: { ...headers, 'x-forwarded-for': repeat('1,', HEADER) } }),
    },
    {
      title: 'content type: 30 KB',
      requests: five({
        method: 'POST',
        path: '/api/fs/list',
        headers: { ...headers, 'content-type': `application/${repeat('+json', HEADER)}` },
        body: '{}',
      }),
    },
    {
      title: 'boundary: 30 KB',
      requests: five({
        method: 'POST',
        path: '/api/fs/list',
        headers: { ...headers, 'content-type': `multipart/form-data; ${repeat('a="\\";', HEADER)}; boundary=b` },
        body: '--b--',
      }),
    },
    { title: 'Range: 7,000 ranges', requests: five(get({ range: `bytes=${repeat('0-0,', HEADER)}0-0` })) },
    { title: 'Range: 30 KB of blanks', requests: five(get({ range: `bytes=0-0${repeat(' ', HEADER)},x` })) },
    { title: 'Range: 30 KB of digits', requests: five(get({ range: `bytes=${repeat('1', HEADER)}-` })) },
    { title: 'If-None-Match: 30 KB', requests: five(get({ 'if-none-match': repeat('W/"a",', HEADER) })) },
    { title: 'If-Modified-Since: 30 KB', requests: five(get({ 'if-modified-since': `Mon, ${repeat('(', HEADER)}` })) },
    { title: 'page: /i/ with 30 KB', requests: five({ path: `/i/${repeat('QUFB', HEADER)}.plist` }) },
    {
      title: 'upload form: a header of 60 KB',
      requests: five({
        method: 'PUT',
        path: '/api/fs/form',
        headers: { ...headers, 'file-path': '/local/x', 'content-type': 'multipart/form-data; boundary=b' },
        body: `--b\r\nContent-Disposition: form-data; name="${repeat('\\"', 60_000)}"\r\n\r\n\r\n--b--`,
      }),
    },
    {
      title: 'upload: a path of 30 KB',
      requests: five({ method: 'PUT', path: '/api/fs/put', headers: { ...headers, 'file-path': repeat('%2Fa', HEADER) }, body: 'x' }),
    },
  ];
}

function pathCases(post: Post, headers: Record<string, string>): BlockedCase[] {
  const deep = `/local/guarded${'/a'.repeat(2_000)}`;
  const names = Array.from({ length: 1_500 }, (_, index) => `${'a/'.repeat(400)}${index}`);
  return [
    { title: 'list: 2,000 segments, five at once', requests: five(post('/api/fs/list', { path: deep })) },
    { title: 'get: 2,000 segments, five at once', requests: five(post('/api/fs/get', { path: deep })) },
    {
      title: 'search: 2,000 segments, five at once',
      requests: five(post('/api/fs/search', { parent: deep, keywords: 'a', in_folder: true, page: 1, per_page: 100 })),
    },
    { title: 'mkdir: 2,000 segments, five at once', requests: five(post('/api/fs/mkdir', { path: deep })) },
    { title: 'move: 2,000 segments', requests: [post('/api/fs/move', { src_dir: deep, dst_dir: `${deep}/b`, names: ['x'] })] },
    { title: 'recursive_move: 2,000 segments', requests: [post('/api/fs/recursive_move', { src_dir: deep, dst_dir: '/local' })] },
    { title: 'link: 2,000 segments, five at once', requests: five({ path: `/d${deep}`, headers }) },
    { title: 'remove: 1,500 names of 400 segments', requests: [post('/api/fs/remove', { dir: '/local', names })] },
    { title: 'move: 1,500 names of 400 segments', requests: [post('/api/fs/move', { src_dir: '/local', dst_dir: '/local/moved', names })] },
  ];
}

function crowdCases(post: Post, headers: Record<string, string>, asAdmin: Record<string, string>): BlockedCase[] {
  const crowd = '/local/crowd';
  return [
    { title: 'list: all of 60,000, five at once', requests: five(post('/api/fs/list', { path: crowd })) },
    { title: 'list: all of 60,000 by the admin, five at once', requests: five(post('/api/fs/list', { path: crowd }, asAdmin)) },
    { title: 'list: all of 60,000 anew', requests: [post('/api/fs/list', { path: crowd, refresh: true })] },
    { title: 'list: pages of 50 of 60,000', requests: five(post('/api/fs/list', { path: crowd, page: 7, per_page: 50 })) },
    { title: 'dirs: of 60,000, five at once', requests: five(post('/api/fs/dirs', { path: crowd })) },
    { title: 'get: 60,000 related, five at once', requests: five(post('/api/fs/get', { path: `${crowd}/crowd.txt` })) },
    {
      title: 'search in a folder of 60,000, five at once',
      requests: five(post('/api/fs/search', { parent: crowd, keywords: 'crowd', in_folder: true, page: 1, per_page: 10_000 })),
    },
    {
      title: 'regex_rename: of 60,000, none matches',
      requests: [post('/api/fs/regex_rename', { src_dir: crowd, src_name_regex: '(a|b)*c(d|e)*f$', new_name_regex: 'x' })],
    },
    {
      title: 'batch_rename: 10,000 of 60,000, to the names that they have',
      requests: [
        post('/api/fs/batch_rename', {
          src_dir: crowd,
          rename_objects: Array.from({ length: 10_000 }, (_, index) => {
            const name = `crowd${index} of many.txt`;
            return { src_name: name, new_name: name };
          }),
        }),
      ],
    },
    { title: 'link: in a folder of 60,000', requests: five({ path: '/d/local/crowd/crowd.txt', headers }) },
  ];
}

/** Folders of the tree that are shown at other places: two of them as one, and films as addresses. */
async function shownCases(post: Post, admin: Api, asAdmin: Record<string, string>, folder: string): Promise<BlockedCase[]> {
  for (const part of ['one', 'two']) await makeFiles(join(folder, part), SHOWN, (index) => `film ${part} ${index}.mkv`);
  const lines = (name: string) => ['one', 'two'].map((part) => `${name}:/local/shown/${part}`).join('\n');
  const strm = {
    paths: lines('all'),
    siteUrl: 'http://127.0.0.1',
    PathPrefix: '/d',
    filterFileTypes: 'mkv',
    withSign: true,
    encodePath: true,
  };
  const storages = { Alias: { paths: lines('all') }, Strm: strm };
  for (const [driver, addition] of Object.entries(storages))
    await admin.call('/api/admin/storage/create', { mount_path: `/blocked-${driver}`, driver, addition: JSON.stringify(addition) });
  const list = (driver: string) => post('/api/fs/list', { path: `/blocked-${driver}`, refresh: true }, asAdmin);
  return Object.keys(storages).flatMap((driver) => [
    { title: `list: ${2 * SHOWN} of ${driver} anew`, requests: [list(driver)], budgetMs: SHOWN_BUDGET_MS },
    { title: `list: ${2 * SHOWN} of ${driver} anew, five at once`, requests: five(list(driver)), budgetMs: SHOWN_BUDGET_MS },
  ]);
}

/** A list of many tasks: uploads As-Task fail or end at once, copies to another storage stay in the list. */
async function taskCases(admin: Api, asAdmin: Record<string, string>, root: string): Promise<BlockedCase[]> {
  await mkdir(root, { recursive: true });
  const addition = JSON.stringify({ root_folder_path: root });
  await admin.call('/api/admin/storage/create', { mount_path: '/blocked-target', driver: 'Local', addition });
  const content = at(await admin.call('/api/fs/list', { path: '/local/crowd', page: 1, per_page: TASKS }), 'content');
  const names = Array.isArray(content) ? content.map((entry: unknown) => at(entry, 'name')) : [];
  await admin.call('/api/fs/copy', { src_dir: '/local/crowd', dst_dir: '/blocked-target', names });
  const list = (path: string): HttpRequest => ({ path, headers: asAdmin });
  return [
    {
      title: 'tasks: lists of 2,000, five at once',
      requests: [...five(list('/api/admin/task/copy/undone')), ...five(list('/api/admin/task/copy/done'))],
    },
    {
      title: 'tasks: cancel 10,000',
      requests: [
        {
          method: 'POST',
          path: '/api/admin/task/copy/cancel_some',
          headers: { ...asAdmin, ...JSON_TYPE },
          body: JSON.stringify(Array.from({ length: 10_000 }, (_, index) => `none-${index}`)),
        },
      ],
    },
    { title: 'tasks: delete all done', requests: [{ method: 'POST', path: '/api/admin/task/copy/clear_done', headers: asAdmin }] },
  ];
}

/** Names that share a stem, with numbers for the natural order. */
async function makeCrowd(folder: string): Promise<void> {
  await makeFiles(folder, CROWD, (index) => `crowd${index} of many.txt`);
  await writeFile(join(folder, 'crowd.txt'), '');
}

async function makeFiles(folder: string, count: number, nameOf: (index: number) => string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (let from = 0; from < count; from += 100)
    await Promise.all(Array.from({ length: 100 }, (_, index) => writeFile(join(folder, nameOf(from + index)), '')));
}

async function makeUser(wharf: WharfServer, admin: Api): Promise<Api> {
  const password = 'secret of the user';
  const fields = { username: 'blocked', password, base_path: '/', role: 0, permission: ALL_BUT_SIGHT, disabled: false, sso_id: '' };
  await admin.call('/api/admin/user/create', fields);
  return login(wharf.base, 'blocked', password);
}
