import { AppError } from '@wharf/errors';
import { startHttpServer } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { at, put, textOf } from '../../driver-contract/conformance/driver-calls.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { webdavDriver } from './index.ts';
import { startDoubtfulWay } from './testing/doubtful-way.ts';
import { testEgress } from './testing/test-egress.ts';

const DATE = 'Sun, 22 Nov 2026 19:00:00 GMT';

type Looks = 'before it removes' | 'where it is told so' | 'after it has removed';

/** A double that keeps files in memory, and looks for what is moved in one of these ways: as Apache, sabre/dav 4, and golang.org/x/net/webdav do. */
async function startMemoryDav(looks: Looks) {
  const entries = new Map<string, string | undefined>([['/dav', undefined]]);
  const asked: string[] = [];
  const date = new Date().toUTCString();
  const lies = { aboutWrites: false, aboutMoves: false };
  const busy = { status: 503, times: 0, isHolder: (name: string) => /\/\.wharf-tmp-aside-[^/]*$/.test(name) };
  const nameOf = (url: string) => decodeURIComponent(new URL(url, 'http://server').pathname).replace(/\/$/, '');
  const inside = (name: string) => [...entries.keys()].filter((each) => each.startsWith(`${name}/`));
  const remove = (name: string) => {
    for (const each of [name, ...inside(name)]) entries.delete(each);
  };
  function move(from: string, to: string, { overwrite, ifMatch }: { overwrite: boolean; ifMatch: boolean }): number {
    const isThere = entries.has(from);
    if (!isThere && (looks === 'before it removes' || (looks === 'where it is told so' && ifMatch))) return ifMatch ? 412 : 404;
    if (entries.has(to) && !overwrite) return 412;
    remove(to);
    if (!isThere) return 404;
    if (!entries.has(to.slice(0, to.lastIndexOf('/')))) return 409;
    for (const each of [from, ...inside(from)]) {
      entries.set(to + each.slice(from.length), entries.get(each));
      entries.delete(each);
    }
    return 201;
  }
  const described = (name: string) => {
    const content = entries.get(name);
    const type = content === undefined ? '<collection/>' : '';
    return `<response><href>${encodeURI(name)}</href><propstat><prop><resourcetype>${type}</resourcetype><getcontentlength>${content?.length ?? 0}</getcontentlength><getlastmodified>${date}</getlastmodified><getetag>"${content}"</getetag></prop><status>HTTP/1.1 200 OK</status></propstat></response>`;
  };
  const server = await startHttpServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const name = nameOf(url);
    let content = '';
    for await (const piece of request) content += String(piece);
    if (method !== 'PROPFIND' && method !== 'GET') asked.push(`${method}${headers['if-match'] ? ' if there' : ''}`);
    const answer = (status: number, body = '') => void response.writeHead(status).end(body);
    const make = (made: string | undefined) => {
      entries.set(name, made);
      answer(201);
    };
    if (method === 'PUT') return lies.aboutWrites ? answer(201) : make(content);
    if (method === 'COPY') {
      entries.set(nameOf(String(headers['destination'])), entries.get(name));
      return answer(201);
    }
    if (method === 'MKCOL') return entries.has(name) ? answer(405) : make(undefined);
    if (method === 'MOVE') {
      if ((name.endsWith('/missing') || busy.isHolder(name)) && busy.times-- > 0) return answer(busy.status);
      const how = { overwrite: headers['overwrite'] === 'T', ifMatch: headers['if-match'] === '*' };
      const status = move(name, nameOf(String(headers['destination'])), how);
      return answer(lies.aboutMoves && how.ifMatch ? 412 : status);
    }
    if (!entries.has(name)) return answer(404);
    if (method === 'DELETE') {
      remove(name);
      return answer(204);
    }
    if (method === 'GET') return void response.writeHead(200, { ETag: '"x"', 'Last-Modified': DATE }).end(entries.get(name));
    const shown = headers['depth'] === '1' ? inside(name).filter((each) => !each.slice(name.length + 1).includes('/')) : [];
    answer(207, `<multistatus xmlns="DAV:">${[name, ...shown].map((each) => described(each)).join('')}</multistatus>`);
  });
  onTestFinished(() => server.stop());
  return { server, entries, asked, lies, busy };
}

async function opened(looks: Looks, busy = { status: 503, times: 0 }) {
  const dav = await startMemoryDav(looks);
  Object.assign(dav.busy, busy);
  const way = await startDoubtfulWay(dav.server);
  onTestFinished(() => way.stop());
  const items = { address: `${way.url}/dav`, username: 'u', password: 'p', root_folder_path: '/' };
  const driver = (await webdavDriver.open(JSON.stringify(items), { egress: testEgress() })) as Required<StorageDriver>;
  onTestFinished(() => driver.close());
  await put(driver, '/file', 'old');
  dav.asked.length = 0;
  way.moves = 0;
  return { driver, way, ...dav };
}

it.each<[Looks, readonly string[]]>([
  ['before it removes', ['PUT', 'MOVE', 'MOVE']],
  ['where it is told so', ['PUT', 'MOVE', 'MOVE if there']],
  ['after it has removed', ['PUT', 'MOVE', 'MKCOL', 'MOVE', 'MOVE', 'DELETE']],
])('a server that looks for what is moved %s is asked as it needs it', async (looks, calls) => {
  const { driver, asked } = await opened(looks);
  await put(driver, '/file', 'new content');
  expect(asked).toEqual(calls);
  expect(await textOf(driver, '/file')).toBe('new content');
});

it.each<Looks>(['before it removes', 'where it is told so', 'after it has removed'])(
  'a MOVE that is carried out twice by a server that looks %s replaces once, and is told so',
  async (looks) => {
    const { driver, way, entries } = await opened(looks);
    await put(driver, '/other', 'other');
    way.doubt = 'twice';
    expect(await put(driver, '/file', 'new content')).toMatchObject({ sizeBytes: 11 });
    expect(entries.get('/dav/file')).toBe('new content');
    expect(await driver.rename(at('/other'), at('/file'), { overwrite: true })).toMatchObject({ sizeBytes: 5 });
    expect([...entries]).toEqual([
      ['/dav', undefined],
      ['/dav/file', 'other'],
    ]);
  },
);

it.each<[Looks, number]>([
  ['before it removes', 2],
  ['where it is told so', 2],
  ['after it has removed', 2],
  ['after it has removed', 3],
])('a server that looks %s, and carries out MOVE %s late, takes away nothing that was stored since', async (looks, lateMove) => {
  const { driver, way, entries } = await opened(looks);
  way.doubt = { lateMove };
  await put(driver, '/file', 'first').catch(() => undefined);
  way.doubt = 'none';
  await put(driver, '/file', 'second');
  expect(await way.carryOut()).toBe(1);
  expect(entries.get('/dav/file')).toBe('second');
});

it.each<Looks>(['before it removes', 'where it is told so', 'after it has removed'])(
  'a write that a server took, looks %s, and did not keep is not told as done for what was there before, though that is as new and as long',
  async (looks) => {
    const { driver, lies, entries } = await opened(looks);
    lies.aboutWrites = true;
    await expect(put(driver, '/file', 'new', { beforePublish: async () => undefined })).rejects.toThrow();
    expect(entries.get('/dav/file')).toBe('old');
    expect(await driver.stat(at('/file'))).toMatchObject({ sizeBytes: 3 });
  },
);

it.each<[string, (driver: Required<StorageDriver>) => Promise<unknown>, string]>([
  ['is looked at', (driver) => driver.stat(at('/file')), 'done'],
  ['is read', (driver) => textOf(driver, '/file'), 'done'],
  ['is stored where nothing is', (driver) => put(driver, '/file', 'other', { overwrite: false }), 'ENTRY_EXISTS'],
  ['gets a folder', (driver) => driver.makeDirectory(at('/file')), 'ENTRY_EXISTS'],
  ['is given to another', (driver) => driver.rename(at('/other'), at('/file'), { overwrite: false }), 'ENTRY_EXISTS'],
  ['is copied', (driver) => driver.copy(at('/file'), at('/copy'), { overwrite: false }), 'done'],
  ['is moved', (driver) => driver.rename(at('/file'), at('/moved'), { overwrite: false }), 'done'],
  ['is removed', (driver) => driver.remove(at('/file'), { recursive: false }), 'done'],
])('what a server moves aside late, as its folder could not be removed, has its name again before it %s', async (what, call, outcome) => {
  const { driver, way, entries, busy } = await opened('after it has removed');
  await put(driver, '/other', 'other');
  way.moves = 0;
  way.doubt = { lateMove: 2 };
  busy.times = 2;
  await put(driver, '/file', 'first').catch(() => undefined);
  way.doubt = 'none';
  busy.times = 0;
  expect(await way.carryOut()).toBe(1);
  expect(entries.has('/dav/file')).toBe(false);
  const told = call(driver).then(
    () => 'done',
    (error: unknown) => AppError.from(error).code,
  );
  expect(await told).toBe(outcome);
  const name = { 'is copied': '/copy', 'is moved': '/moved' }[what] ?? '/file';
  expect(entries.get(`/dav${name}`)).toBe(what === 'is removed' ? undefined : 'old');
});

it.each<[number, number, readonly string[]]>([
  [423, 1, ['PUT', 'MOVE', 'MOVE if there']],
  [429, 1, ['PUT', 'MOVE', 'MOVE if there']],
  [503, 2, ['PUT', 'MOVE', 'MOVE if there']],
  [504, 99, ['PUT', 'MOVE', 'MKCOL', 'MOVE', 'MOVE', 'DELETE']],
])('a server that answers %d as it is tried, %d times, is not taken for one that looks first', async (status, times, calls) => {
  const { driver, asked } = await opened('where it is told so', { status, times });
  await put(driver, '/file', 'new content');
  expect(asked).toEqual(calls);
});

it('a server that denies a MOVE which it has done is not asked for it again, though what it moved looks as what was there', async () => {
  const { driver, asked, lies, entries } = await opened('where it is told so');
  lies.aboutMoves = true;
  await expect(put(driver, '/file', 'old', { beforePublish: async () => undefined })).rejects.toThrow();
  expect(entries.get('/dav/file')).toBe('old');
  expect(asked.filter((each) => each.startsWith('MOVE'))).toHaveLength(1);
});
