import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, at, httpRequest, login, type StoreProcess, startServices, startStoreProcess, type Wharf, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, expect, test } from 'vitest';

const START_LIMIT_MS = 120_000;

let store: StoreProcess;
let wharf: Wharf;
let admin: Api;
let ended: Api;

beforeAll(async () => {
  store = await startStoreProcess();
  wharf = await startServices({ env: { MONGO_URL: store.url } });
  await writeFile(join(wharf.filesDir, 'known.txt'), 'known');
  admin = await login(wharf.base, 'admin', wharf.adminPassword);
}, START_LIMIT_MS);
afterAll(async () => {
  store?.resume();
  await wharf?.stop();
  await store?.stop();
});

const names = async (who: Api): Promise<string[]> => {
  const content = at((await who.post('/api/fs/list', { path: '/local' })).data, 'content');
  return Array.isArray(content) ? content.map((entry) => String(at(entry, 'name'))) : [];
};

test(
  'while the store is away, what is known answers reads; writes and admins are refused, and so is a login that has ended',
  async () => {
    ended = await login(wharf.base, 'admin', wharf.adminPassword);
    expect([await names(admin), await names(ended)]).toEqual([['known.txt'], ['known.txt']]);
    expect((await ended.get('/api/auth/logout')).code).toBe(200);
    const raw = String(at((await admin.post('/api/fs/get', { path: '/local/known.txt' })).data, 'raw_url'));

    store.pause();
    const pausedAt = performance.now();
    try {
      // What was read a moment ago is fresh still: the outage is met behind that.
      await waitFor('the age of what is kept', () => performance.now() - pausedAt > 6_000, { withinMs: 20_000 });
      expect(await names(admin)).toEqual(['known.txt']);
      expect(at((await admin.get('/api/me')).data, 'username')).toBe('admin');
      expect((await httpRequest(wharf.base, { path: new URL(raw).pathname + new URL(raw).search })).text()).toBe('known');
      expect((await admin.get('/api/public/settings')).code).toBe(200);
      await store.kill();
      const refused = { code: 500, message: expect.stringMatching(/store does not answer|internal error/) };
      expect(
        await Promise.all([
          admin.post('/api/fs/mkdir', { path: '/local/new' }),
          admin.get('/api/admin/storage/list'),
          ended.get('/api/me'),
        ]),
      ).toMatchObject([refused, refused, refused]);
      expect(await names(admin)).toEqual(['known.txt']);
    } finally {
      await store.restart();
    }
    await waitFor('the store', async () => (await admin.post('/api/fs/mkdir', { path: '/local/new' })).code === 200, { withinMs: 30_000 });
    expect(await names(admin)).toContain('new');
    expect((await ended.get('/api/me')).code).toBe(401);
  },
  START_LIMIT_MS,
);
