import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, isAvailable, startAria2, startFtpServer, startSshServer, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeProbeTorrent } from '../src/tools/probe-torrent.ts';
import { type AwkwardServer, content, startAwkwardServer } from './awkward-server.ts';
import { type Installation, openInstallation, type Replica } from './installation.ts';

const aria2 = await startAria2();
const ftp = await startFtpServer({ software: 'vsftpd' });
const ssh = await startSshServer();
const torrent = makeProbeTorrent('show', content(1000));

describe.runIf(isAvailable('aria2', aria2))('downloads of a tool', () => {
  let place: Installation;
  let server: AwkwardServer;
  const waiting: (() => void)[] = [];

  beforeAll(async () => {
    if (!('url' in aria2)) return;
    place = await openInstallation({
      rpcdl_uri: aria2.url,
      rpcdl_secret: aria2.password,
      offline_download_task_threads_num: '1',
    });
    server = await startAwkwardServer({
      content: content(1000),
      async handle(request, response) {
        if (request.url === '/quick') return false;
        if (request.url?.startsWith('/on?')) {
          response.writeHead(302, { Location: decodeURIComponent(request.url.slice('/on?'.length)) }).end();
          return true;
        }
        if (request.url === '/asked') {
          response.setHeader('Set-Cookie', 'session=mine; Path=/; Max-Age=3600');
          if (request.headers.authorization !== undefined) return false;
          response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="asked"' }).end();
          return true;
        }
        if (request.url === '/show.torrent') {
          const seeds = `${server.url}/seeds/`;
          response.end(Buffer.concat([torrent.content.subarray(0, -1), Buffer.from(`8:url-list${seeds.length}:${seeds}e`)]));
          return true;
        }
        await new Promise<void>((resolve) => waiting.push(resolve));
        return false;
      },
    });
  });
  afterAll(async () => {
    for (const go of waiting) go();
    await place?.close();
    await server?.close();
    for (const each of [aria2, ftp, ssh]) if ('stop' in each) await each.stop();
  });

  const running = async (replica: Replica, ids: readonly string[]) =>
    (await Promise.all(ids.map((id) => replica.task(id)))).filter(({ state }) => state === 1).length;

  it('that take for ever do not hold up SimpleHttp, and are limited by themselves', async () => {
    const replica = await place.open({ downloadsPerTool: 2, downloadsPerUser: 10 });
    const ids: string[] = [];
    for (let index = 0; index < 3; index++) ids.push(await replica.add(`${server.url}/slow-${index}`, 'aria2'));
    await waitFor('two of them to run', async () => (await running(replica, ids)) === 2);
    await replica.until(await replica.add(`${server.url}/quick`), { state: 2 });
    expect(await running(replica, ids)).toBe(2);
    await replica.cancel(ids[0] ?? '');
    await waitFor('the third to run', async () => (await replica.task(ids[2] ?? '')).state === 1);
    for (const id of ids) await replica.cancel(id);
    await replica.close();
  });

  it('are left to a replica that sees what the tool makes', async () => {
    await writeFile(join(place.dir, 'a-file'), '');
    const blind = await place.open({ toolsDir: join(place.dir, 'a-file', 'tools') });
    const id = await blind.add(`${server.url}/quick`, 'aria2');
    // The reason has paths and addresses in it: it is for the log.
    await blind.until(id, { state: 0, phase: 'waiting', status: 'waits for a downloader that works with aria2', error: '' });
    expect(blind.log()).toContain('a download tool and this downloader do not work together');
    expect(blind.log()).toContain('(WHARF_TOOLS_DIR)');
    const seeing = await place.open();
    await blind.until(id, { state: 2 }, 15_000);
    await waitFor('the file', () => place.fs.files.has('/in/quick'));
    expect(seeing.log()).not.toContain('do not work together');
    for (const replica of [blind, seeing]) await replica.close();
  });

  it('that have succeeded and are begun anew arrive once more, and leave nothing', async () => {
    const replica = await place.open();
    place.fs.files.clear();
    const id = await replica.add(`${server.url}/quick`, 'aria2');
    for (const again of [true, false]) {
      await waitFor('the file', () => place.fs.files.has('/in/quick'));
      await waitFor('nothing to be left', async () => (await readdir(join(place.dir, 'tools', 'aria2'))).length === 0);
      await waitFor('its transfer to end', async () => (await replica.transfers()).length === 0);
      await replica.until(id, { state: 2 });
      place.fs.files.clear();
      if (again) await replica.retry(id);
    }
    await replica.close();
  });

  it('have nothing of the cookies and logins of others, nor of those of aria2 itself', async () => {
    const replica = await place.open();
    const address = `${server.url}/asked`;
    await replica.until(await replica.add(address.replace('//', '//ann:secret@'), 'aria2'), { state: 2 });
    await replica.until(await replica.add(address, 'aria2'), { state: 7 });
    const asked = server.requests.filter(({ path }) => path === '/asked').map(({ headers }) => headers);
    expect(asked[0]?.authorization).toBe(`Basic ${btoa('ann:secret')}`);
    expect(asked.slice(1).length).toBeGreaterThan(0);
    for (const { authorization, cookie } of asked.slice(1)) expect([authorization, cookie || undefined]).toEqual([undefined, undefined]);
    await replica.close();
  });

  it.each([
    ['FTP', 'ftp', ftp],
    ['SFTP', 'sftp', ssh],
  ])('of %s have nothing of the connection in which another one was let in', async (name, scheme, files) => {
    if (!isAvailable(name, files) || 'missing' in files) return;
    const replica = await place.open();
    const path = 'rootPath' in files ? files.rootPath : '';
    const add = async (file: string, password: string) => {
      await writeFile(join(files.folder, file), 'of theirs', { mode: 0o644 });
      const address = `${scheme}://${files.username}:${password}@${files.host}:${files.port}${path}/${file}`;
      return replica.add(`${server.url}/on?${encodeURIComponent(address)}`, 'aria2');
    };
    await replica.until(await add(`${scheme}-first`, files.password), { state: 2 });
    await replica.until(await add(`${scheme}-second`, 'wrong'), { state: 7 });
    await replica.close();
  });

  it.each([
    ['a file', '/held', '/held'],
    // aria2 does not fail when it cannot reach a web seed.
    ['a torrent with a web seed', '/show.torrent', `/seeds/${torrent.name}/${torrent.fileName}`],
  ])('go on through the proxy of the replica that takes them over: %s', async (_what, path, fetched) => {
    const first = await place.open();
    const id = await first.add(`${server.url}${path}`, 'aria2');
    const asked = () => server.requests.filter((request) => request.path === fetched).length;
    await waitFor('its request', () => asked() > 0, { withinMs: 30_000 });
    await first.close();
    const before = asked();
    const second = await place.open();
    await waitFor('another request', () => asked() > before, { withinMs: 30_000 });
    for (const go of waiting.splice(0)) go();
    await second.until(id, { state: 2 });
    const arrived = fetched.replace('/seeds', '');
    await waitFor('the file', () => place.fs.files.get(`/in${arrived}`)?.equals(content(1000)));
    await second.close();
  });

  it('are transferred by any replica that reads their files, whether or not aria2 reaches it', async () => {
    const first = await place.open();
    place.fs.hangs = true;
    const id = await first.add(`${server.url}/quick`, 'aria2');
    await first.until(id, { state: 2 });
    await waitFor('its transfer', async () => (await first.transfers())[0]?.state === 1);
    await first.close();
    place.fs.hangs = false;
    place.fs.files.clear();
    const blind = await place.open({ toolsDir: join(place.dir, 'elsewhere') });
    const status = 'waits for a downloader that can read what aria2 made';
    await waitFor('the transfer to wait', async () => (await blind.transfers())[0]?.status === status, { withinMs: 30_000 });
    const lost = await place.open({ egressProxyUrl: `http://127.0.0.1:${await freePort()}` });
    await waitFor('the file', () => place.fs.files.has('/in/quick'), { withinMs: 20_000 });
    await waitFor('the transfer to end', async () => (await lost.transfers()).length === 0);
    // It left the task to others.
    expect(blind.log().match(/cannot be read here/g)).toHaveLength(1);
    for (const replica of [blind, lost]) await replica.close();
  });

  it('bring what the tool made, its empty folders too', async () => {
    const replica = await place.open();
    const id = await replica.add(`${server.url}/later`, 'aria2');
    const folder = join(place.dir, 'tools', 'aria2', id);
    await waitFor('its folder', () => readdir(folder).catch(() => undefined));
    await mkdir(join(folder, 'show', 'empty'), { recursive: true });
    await waitFor('its request', () => server.requests.some(({ path }) => path === '/later'));
    for (const go of waiting.splice(0)) go();
    await replica.until(id, { state: 2 });
    await waitFor('nothing to be left', async () => (await readdir(join(place.dir, 'tools', 'aria2'))).length === 0);
    expect([...place.fs.folders]).toEqual(['/in/show/empty']);
    expect(place.fs.files.get('/in/later')?.length).toBe(1000);
  });
});
