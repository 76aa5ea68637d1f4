import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Api,
  at,
  type DownloadTool,
  isAvailable,
  type Missing,
  makeTempDir,
  startAria2,
  startServices,
  startStandalone,
  type TempDir,
  waitFor,
} from '@wharf/harness';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { dataOf, makePerson } from './support/people.ts';
import { type SourceServer, startSourceServer } from './support/source-server.ts';
import { TOOL_CASES } from './support/tool-cases.ts';
import { makeTorrent } from './support/torrent.ts';
import { openWorld, type World } from './support/world.ts';

const MIB = 1024 * 1024;
const OFFLINE_DOWNLOAD = 4;
const WITHIN = { withinMs: 90_000 };

describe.each([
  ['standalone', startStandalone],
  ['five processes', startServices],
] as const)('offline downloads, %s', (_shape, start) => {
  let world: World;
  let source: SourceServer;
  let toolsDir: TempDir;

  beforeAll(async () => {
    source = await startSourceServer();
    toolsDir = await makeTempDir('tools');
    world = await openWorld(start, { env: { WHARF_EGRESS_ALLOW: '127.0.0.1', WHARF_TOOLS_DIR: toolsDir.path } });
  });
  afterAll(async () => {
    await world?.close();
    await source?.close();
    await toolsDir?.remove();
  });
  beforeEach(() => {
    source.bytesPerSecond = 0;
  });

  const add = (caller: Api, path: string, urls: readonly string[], changes: Record<string, string> = {}) =>
    caller.post('/api/fs/add_offline_download', {
      urls,
      path,
      tool: 'SimpleHttp',
      delete_policy: 'delete_on_upload_succeed',
      ...changes,
    });
  const ended = (list: string, id: unknown) =>
    waitFor(
      `task ${id} to end`,
      async () => {
        const task = await world.admin.call(`/api/task/${list}/info?tid=${id}`, {});
        return [2, 4, 7].includes(Number(at(task, 'state'))) ? { task } : undefined;
      },
      WITHIN,
    ).then(({ task }) => task);
  const serve = (name: string, sizeBytes: number) => {
    const content = randomBytes(sizeBytes);
    source.files.set(`/${name}`, content);
    return content;
  };

  test('each address becomes a task in its first state, and the files arrive as they are', async () => {
    const { path, disk } = await world.folder('fetched');
    const contents = [serve('one.bin', 21 * MIB + 7), serve('two.bin', 0), serve('three.bin', 1000)];
    const answer = await add(world.admin, `${path}/new`, [
      ` ${source.url}/one.bin `,
      '',
      `${source.url}/two.bin`,
      `${source.url}/three.bin`,
    ]);
    const tasks = at(answer.data, 'tasks');
    if (!Array.isArray(tasks)) throw new Error(answer.message);
    expect(tasks[0]).toMatchObject({
      name: `download ${source.url}/one.bin to (${path}/new)`,
      state: 0,
      status: '',
      progress: 0,
      error: '',
    });
    for (const task of tasks) expect(await ended('offline_download', at(task, 'id'))).toMatchObject({ state: 2, progress: 100, error: '' });
    for (const [index, name] of ['one.bin', 'two.bin', 'three.bin'].entries())
      expect((await readFile(join(disk, 'new', name))).equals(contents[index] ?? Buffer.of())).toBe(true);
    expect((await readdir(join(disk, 'new'))).length).toBe(3);
  });

  test('what is refused is said, and nothing is queued', async () => {
    const { path } = await world.folder('refused');
    const nobody = await makePerson(world, { permission: 0 });
    const somebody = await makePerson(world, { permission: OFFLINE_DOWNLOAD });
    serve('ok.bin', 10);
    const ok = `${source.url}/ok.bin`;
    expect(await add(nobody, path, [ok])).toMatchObject({ code: 403, message: 'permission denied' });
    expect(await add(world.admin, path, [ok], { tool: 'Nope' })).toMatchObject({
      code: 500,
      message: 'failed get offline download tool: tool Nope not found',
    });
    for (const url of ['ftp://127.0.0.1/x', 'http://169.254.169.254/latest', 'http://[::1]/x', 'http://10.0.0.1/', 'nonsense'])
      expect((await add(somebody, path, [url])).code).toBe(500);
    expect(await dataOf(somebody, '/api/task/offline_download/undone')).toEqual([]);
    const queued = await add(somebody, path, [ok]);
    const id = at(queued.data, 'tasks', 0, 'id');
    expect(await ended('offline_download', id)).toMatchObject({ state: 2, creator: somebody.username });
    const other = await makePerson(world, { permission: OFFLINE_DOWNLOAD });
    expect(await other.post(`/api/task/offline_download/info?tid=${id}`)).toMatchObject({ code: 404, message: 'task not found' });
    expect((await add(world.admin, `${path}/ok.bin`, [ok])).code).toBe(500);
  });

  test('a file must hash to what its caller says', async () => {
    const { path, disk } = await world.folder('hashed');
    const content = serve('hashed.bin', MIB + 3);
    const url = `${source.url}/hashed.bin`;
    const hashOf = (name: string) => createHash(name).update(content).digest('hex');
    const hashes = { md5: hashOf('md5'), sha1: hashOf('sha1'), sha256: hashOf('sha256').toUpperCase() };
    const ask = (changes: object) =>
      world.admin.post('/api/fs/add_offline_download', {
        urls: [url],
        path,
        tool: 'SimpleHttp',
        delete_policy: 'delete_always',
        ...changes,
      });
    for (const name of ['md5', 'sha1', 'sha256'] as const) {
      const wrong = { ...hashes, [name]: '0'.repeat(hashes[name].length) };
      const id = at((await ask({ hashes: wrong })).data, 'tasks', 0, 'id');
      expect(await ended('offline_download', id), name).toMatchObject({ state: 7 });
    }
    expect(await readdir(disk)).toEqual([]);
    expect(await ended('offline_download', at((await ask({ hashes })).data, 'tasks', 0, 'id'))).toMatchObject({ state: 2 });
    expect(await readdir(disk)).toEqual(['hashed.bin']);
    for (const changes of [{ hashes, urls: [url, url] }, { hashes: { md5: 'nonsense' } }])
      expect(await ask(changes), JSON.stringify(changes)).toMatchObject({ code: 400 });
    expect((await ask({ hashes, tool: 'aria2' })).code).not.toBe(200);
  });

  test('a redirect to an address that is not allowed ends the task with a clear error', async () => {
    const { path, disk } = await world.folder('redirected');
    source.redirects.set('/inside', 'http://169.254.169.254/latest/meta-data');
    const id = at((await add(world.admin, path, [`${source.url}/inside`])).data, 'tasks', 0, 'id');
    expect(await ended('offline_download', id)).toMatchObject({ state: 7, error: expect.stringContaining('is not allowed') });
    expect(await readdir(disk)).toEqual([]);
  });

  test('a cancelled download leaves nothing', async () => {
    const { path, disk } = await world.folder('cancelled');
    serve('slow.bin', 40 * MIB);
    source.bytesPerSecond = 500_000;
    const id = at((await add(world.admin, path, [`${source.url}/slow.bin`])).data, 'tasks', 0, 'id');
    await waitFor(
      'bytes',
      async () => Number(at(await world.admin.call(`/api/task/offline_download/info?tid=${id}`, {}), 'progress')) > 0,
      WITHIN,
    );
    await world.admin.call(`/api/task/offline_download/cancel?tid=${id}`, {});
    expect(await ended('offline_download', id)).toMatchObject({ state: 4 });
    expect(await readdir(disk)).toEqual([]);
    expect(await readdir(join(disk, '..', '.wharf-tmp')).catch(() => [])).toEqual([]);
  });

  describe.each(TOOL_CASES)('with $name', ({ name, start: startTool, settings }) => {
    let tool: DownloadTool | Missing;
    beforeAll(async () => {
      tool = await startTool();
      if (!isAvailable(name, tool)) return;
      const [route, body] = settings(tool);
      await world.admin.call(`/api/admin/setting/${route}`, body);
    });
    afterAll(async () => {
      if (isAvailable(name, tool)) await tool.stop();
    });

    test('it is offered', async (context) => {
      if (!isAvailable(name, tool)) return context.skip(tool.missing);
      await waitFor(
        'the tool',
        async () => JSON.stringify(await dataOf(world.admin, '/api/public/offline_download_tools')).includes(name),
        WITHIN,
      );
    });

    test('a torrent of several files arrives with its folders, and nothing stays behind', async (context) => {
      if (!isAvailable(name, tool)) return context.skip(tool.missing);
      const { path, disk } = await world.folder('torrent');
      const folder = world.unique('show');
      const files = new Map([
        ['readme.txt', randomBytes(1000)],
        ['season 1/one.bin', randomBytes(300_000)],
        ['season 1/two.bin', randomBytes(70_000)],
      ]);
      for (const [inner, content] of files) source.files.set(`/seed/${folder}/${inner}`, content);
      source.files.set(`/${folder}.torrent`, makeTorrent(folder, files, { 'url-list': `${source.url}/seed/` }));
      const answer = await add(world.admin, path, [`${source.url}/${folder}.torrent`], { tool: name, delete_policy: 'delete_always' });
      const id = at(answer.data, 'tasks', 0, 'id');
      if (typeof id !== 'string') throw new Error(answer.message);
      expect(await ended('offline_download', id)).toMatchObject({ state: 2, status: 'offline download completed, maybe transferring' });
      const transfers = () => dataOf(world.admin, '/api/task/offline_download_transfer/done');
      const transfer = await waitFor(
        'the transfer',
        async () => {
          const all = await transfers();
          return Array.isArray(all) ? all.find((task) => String(at(task, 'name')).includes(`(/${folder})`)) : undefined;
        },
        WITHIN,
      );
      expect(transfer).toMatchObject({ state: 2, name: `transfer [](/${folder}) to [/local](${path.slice('/local'.length)})`, error: '' });
      for (const [inner, content] of files) expect((await readFile(join(disk, folder, inner))).equals(content)).toBe(true);
      expect(await readdir(disk)).toEqual([folder]);
      expect(await readdir(join(toolsDir.path, name.toLowerCase()))).toEqual([]);
    });

    test('a torrent whose tracker or web seed is not allowed is not handed over', async (context) => {
      if (!isAvailable(name, tool)) return context.skip(tool.missing);
      const { path, disk } = await world.folder('inside');
      const files = new Map([['x', randomBytes(10)]]);
      source.files.set('/tracker.torrent', makeTorrent('tracker', files, { announce: 'udp://10.0.0.1:6969/announce' }));
      source.files.set('/seed.torrent', makeTorrent('seed', files, { 'url-list': ['http://169.254.169.254/'] }));
      const hash = 'a'.repeat(40);
      const urls = [
        `${source.url}/tracker.torrent`,
        `${source.url}/seed.torrent`,
        `magnet:?xt=urn:btih:${hash}&tr=http%3A%2F%2F192.168.0.1%2Fannounce`,
        `magnet:?xt=urn:btih:${hash}&ws=http%3A%2F%2F127.0.0.9%2Fx`,
      ];
      const tasks = at((await add(world.admin, path, urls, { tool: name })).data, 'tasks');
      if (!Array.isArray(tasks)) throw new Error('no tasks');
      for (const task of tasks)
        expect(await ended('offline_download', at(task, 'id'))).toMatchObject({ state: 7, error: expect.stringContaining('not allowed') });
      expect(await readdir(disk)).toEqual([]);
    });
  });

  test('aria2 fetches over HTTP through the guarded proxy alone', async (context) => {
    const tool = await startAria2();
    if (!isAvailable('aria2', tool)) return context.skip(tool.missing);
    try {
      await world.admin.call('/api/admin/setting/set_aria2', { uri: tool.url, secret: tool.password });
      const { path, disk } = await world.folder('aria2');
      const content = serve('by-aria2.bin', 5 * MIB);
      source.redirects.set('/aria2-inside', 'http://169.254.169.254/latest/meta-data');
      const answer = await add(world.admin, path, [`${source.url}/by-aria2.bin`, `${source.url}/aria2-inside`], { tool: 'aria2' });
      const [good, bad] = [at(answer.data, 'tasks', 0, 'id'), at(answer.data, 'tasks', 1, 'id')];
      expect(await ended('offline_download', good)).toMatchObject({ state: 2 });
      expect(await ended('offline_download', bad)).toMatchObject({ state: 7 });
      await waitFor('the file', async () => (await readdir(disk)).includes('by-aria2.bin'), WITHIN);
      expect((await readFile(join(disk, 'by-aria2.bin'))).equals(content)).toBe(true);
    } finally {
      await tool.stop();
    }
  });
});

test('a download goes on where it was when everything was killed', async () => {
  const source = await startSourceServer();
  const world = await openWorld(startStandalone, { env: { WHARF_EGRESS_ALLOW: '127.0.0.1' } });
  try {
    const { path, disk } = await world.folder('killed');
    await mkdir(disk, { recursive: true });
    const content = randomBytes(48 * MIB);
    source.files.set('/film.bin', content);
    source.bytesPerSecond = 2 * MIB;
    const answer = await world.admin.call('/api/fs/add_offline_download', {
      urls: [`${source.url}/film.bin`],
      path,
      tool: 'SimpleHttp',
      delete_policy: 'delete_never',
    });
    const info = () => world.admin.call(`/api/task/offline_download/info?tid=${at(answer, 'tasks', 0, 'id')}`, {});
    await waitFor('a half of it', async () => Number(at(await info(), 'progress')) > 50, WITHIN);
    await world.wharf.kill();
    const before = source.sentBytes();
    source.bytesPerSecond = 0;
    await world.wharf.restart();
    await waitFor('the end', async () => at(await info(), 'state') === 2, WITHIN);
    expect((await readFile(join(disk, 'film.bin'))).equals(content)).toBe(true);
    expect(await readdir(disk)).toEqual(['film.bin']);
    // Half of it was there, but for one part on each connection and what sockets held.
    expect(source.sentBytes() - before).toBeLessThan(content.length);
  } finally {
    await world.close();
    await source.close();
  }
});
