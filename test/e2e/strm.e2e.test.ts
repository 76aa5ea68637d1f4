import { at, httpRequest, startStandalone } from '@wharf/harness';
import { afterAll, expect, test } from 'vitest';
import { fetchFile, put } from './support/files.ts';
import { openWorld } from './support/world.ts';

const world = await openWorld(startStandalone);
afterAll(() => world.close());

test('a .strm file leads to the film behind it, with a signature that a new key ends', async () => {
  const { admin, base } = world;
  const { path } = await world.folder('strm');
  const film = Buffer.alloc(300_000, 'a film ');
  expect((await put(admin, base, `${path}/Ein Film (2026) ü.mkv`, film)).code).toBe(200);
  const addition = JSON.stringify({
    paths: path,
    siteUrl: base,
    PathPrefix: '/d',
    filterFileTypes: 'mkv',
    encodePath: true,
    withSign: true,
  });
  await admin.call('/api/admin/storage/create', { mount_path: '/films', driver: 'Strm', addition });
  const read = async () => (await fetchFile(admin, base, '/films/Ein Film (2026) ü.strm')).body.toString('utf8');
  const fetched = async (address: string) => {
    const { pathname, search } = new URL(address);
    return httpRequest(base, { path: `${pathname}${search}` });
  };
  const address = await read();
  expect((await fetched(address)).body.equals(film)).toBe(true);
  expect((await fetched(address.replace(/sign=[^&]*/, 'sign=x'))).status).toBe(401);
  expect(at(await admin.call('/api/fs/list', { path: '/films' }), 'content', 0, 'size')).toBe(Buffer.byteLength(address));
  expect((await put(admin, base, '/films/x.mkv', 'x')).code).toBe(500);
  await admin.call('/api/admin/setting/reset_token');
  expect((await fetched(address)).status).toBe(401);
  expect((await fetched(await read())).body.equals(film)).toBe(true);
});
