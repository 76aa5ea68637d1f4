import { type HttpRequest, httpRequest, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytesOf, mpath } from '../src/domain/testing/memory-tree.ts';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { type Installation, openInstallation, type Replica, USER } from './installation.ts';

let installation: Installation;
let replica: Replica;
const driver = createTestDriver('Direct', [], { only_proxy: false });

beforeAll(async () => {
  let made = 0;
  driver.linkBy((path) => {
    if (/\/(?:kept|ended)\.bin$/.test(path)) {
      made += 1;
      return { url: `https://s3.example${path}?${made}`, expiresAt: new Date(Date.now() + (path === '/ended.bin' ? 0 : 3_600_000)) };
    }
    return path === '/guarded'
      ? { url: 'https://s3.example/guarded', headers: { Range: 'x' } }
      : { url: `https://s3.example${path}?X-Sig=a%2Fb` };
  });
  for (const name of ['file.bin', 'guarded', 'list.m3u8', 'note.txt', 'kept.bin', 'ended.bin', 'ruled/kept.bin'])
    await driver.storeOf().write(mpath(`/${name}`), bytesOf(name.split('/').at(-1) ?? ''), { overwrite: true });
  installation = await openInstallation();
  await installation.writeStorage({ _id: 1, mount_path: '/s', driver: 'Direct' });
  await installation.writeStorage({ _id: 2, mount_path: '/cdn', driver: 'Direct', web_proxy: true, down_proxy_url: 'https://cdn.example' });
  replica = await installation.open([driver.definition]);
});
afterAll(() => installation?.close());

const ask = (route: string, path: string, query = '', rest: Partial<HttpRequest> = {}) =>
  httpRequest(replica.url, { path: `/${route}${path}?${installation.sign(path)}${query}`, ...rest });

describe('/d of a storage that has addresses of its own', () => {
  it('sends the client there, and nobody learns from where', async () => {
    const { status, headers, body } = await ask('d', '/s/file.bin');
    expect([status, headers['location'], body.length]).toEqual([302, 'https://s3.example/file.bin?X-Sig=a%2Fb', 0]);
    expect(headers).toMatchObject({
      'referrer-policy': 'no-referrer',
      'cache-control': 'max-age=0, no-cache, no-store, must-revalidate',
      'access-control-allow-origin': '*',
    });
    expect((await ask('d', '/s/file.bin', '', { method: 'HEAD' })).status).toBe(302);
  });

  it('sends nobody without a signature, nor to a file that is not there', async () => {
    expect((await httpRequest(replica.url, { path: '/d/s/file.bin' })).status).toBe(401);
    expect((await ask('d', '/s/none')).status).toBe(404);
  });

  it('serves itself what cannot be a redirect, and types that always pass through us', async () => {
    for (const name of ['guarded', 'list.m3u8']) {
      const answer = await ask('d', `/s/${name}`);
      expect([answer.status, answer.text()]).toEqual([200, name]);
    }
  });

  it('takes parameters along only where the settings say so', async () => {
    expect((await ask('d', '/s/file.bin', '&response-content-type=text/plain')).headers['location']).not.toContain('response');
    installation.announce(await installation.writeSetting('forward_direct_link_params', 'true'));
    const forwarded = await waitFor('the setting', async () => {
      const { location } = (await ask('d', '/s/file.bin', '&a=1&raw=2&type=x')).headers;
      return location?.includes('a=1') ? location : undefined;
    });
    expect(forwarded).toBe('https://s3.example/file.bin?X-Sig=a%2Fb&a=1&type=x');
  });
});

describe('a link that is kept', () => {
  const locationOf = async (path: string, query = '') => (await ask('d', path, query)).headers['location'];

  it('is given again, through /d and in details, until something changes there', async () => {
    const first = await locationOf('/s/kept.bin');
    expect(await locationOf('/s/kept.bin')).toBe(first);
    const known = installation.as(USER);
    expect((await replica.fs.getEntry({ path: '/s/kept.bin' }, known)).raw_url).toBe(first);
    await replica.fs.removeEntries({ dir: '/s', names: ['kept.bin'] }, known);
    expect((await ask('d', '/s/kept.bin')).status).toBe(404);
  });

  it('is for nobody without a signature, behind a rule, or whose storage hands out none any more', async () => {
    const path = '/s/ruled/kept.bin';
    expect(await locationOf(path)).toMatch(/^https:\/\/s3/);
    for (const query of ['', '?sign=wrong:0']) expect((await httpRequest(replica.url, { path: `/d${path}${query}` })).status).toBe(401);
    const known = installation.as(USER, { admin: await installation.writeRule({ _id: 9, path: '/s/ruled', password: 'pw', p_sub: true }) });
    await expect(replica.fs.getEntry({ path }, known)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    installation.announce(await installation.writeStorage({ _id: 1, mount_path: '/s', driver: 'Direct', web_proxy: true }));
    const served = await waitFor('the storage', async () => {
      const answer = await ask('d', path);
      return answer.status === 200 ? answer : undefined;
    });
    expect(served.text()).toBe('kept.bin');
    installation.announce(await installation.writeStorage({ _id: 1, mount_path: '/s', driver: 'Direct' }));
    await waitFor('the storage', async () => (await ask('d', path)).status === 302);
  });
});

describe('/p of such a storage', () => {
  it('serves texts, and what its policy lets it serve', async () => {
    expect((await ask('p', '/s/note.txt')).text()).toBe('note.txt');
    const refused = await ask('p', '/s/file.bin');
    expect([refused.status, refused.text()]).toEqual([403, 'proxy not allowed\n']);
  });

  it('sends on to a download proxy, which may ask for the file itself', async () => {
    const sign = installation.sign('/cdn/file.bin');
    for (const route of ['d', 'p']) {
      const { status, headers } = await ask(route, '/cdn/file.bin');
      expect([status, headers['location']]).toEqual([302, `https://cdn.example/cdn/file.bin?${sign}`]);
      expect((await ask(route, '/cdn/file.bin', '&d')).text()).toBe('file.bin');
    }
  });
});

it('a link is kept as long as it is good by the clock of this machine, which has made or read it, wherever that of the store stands', async () => {
  const behind = await installation.open([driver.definition], { clock: () => Date.now() - 86_400_000 });
  const find = async () =>
    (await httpRequest(behind.url, { path: `/d/s/ended.bin?${installation.sign('/s/ended.bin')}` })).headers['location'];
  const first = await find();
  expect(first).toMatch(/^https:\/\/s3/);
  expect(await find()).not.toBe(first);
});
