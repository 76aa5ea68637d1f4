import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, api, at, login, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { namesIn } from './support/files.ts';
import { dataOf } from './support/people.ts';
import { type Replicas, startReplicas } from './support/replicas.ts';

/** With a bus: two seconds are promised, and copies without one are renewed after five. */
const WITH_BUS_MS = 3_000;
/** Without one: five seconds are promised; the rest is for a machine that is busy. */
const WITHOUT_BUS_MS = 12_000;

describe('two replicas of admin and of fs', () => {
  let replicas: Replicas;
  let one: Api;
  let two: Api;
  let made = 0;

  beforeAll(async () => {
    replicas = await startReplicas();
    one = await login(replicas.first, 'admin', replicas.adminPassword);
    two = await login(replicas.second, 'admin', replicas.adminPassword);
  });
  afterAll(() => replicas?.stop());

  const mount = async (through: Api) => {
    made += 1;
    const folder = join(replicas.folder, `mount-${made}`);
    await mkdir(folder);
    const addition = JSON.stringify({ root_folder_path: folder, mkdir_perm: '777' });
    const id = at(await through.call('/api/admin/storage/create', { mount_path: `/mount-${made}`, driver: 'Local', addition }), 'id');
    return { id, name: `mount-${made}` };
  };
  const follows = async (withinMs: number) => {
    for (const [here, there] of [
      [one, two],
      [two, one],
    ] as const) {
      const { id, name } = await mount(here);
      expect(await namesIn(here, '/')).toContain(name);
      await waitFor(`${name} there`, async () => (await namesIn(there, '/')).includes(name), { withinMs });
      expect((await there.post('/api/fs/list', { path: `/${name}` })).code).toBe(200);

      await here.call(`/api/admin/storage/disable?id=${id}`);
      await waitFor(`${name} to be gone`, async () => (await there.post('/api/fs/list', { path: `/${name}` })).code !== 200, { withinMs });

      const [item] = [await dataOf(here, '/api/admin/setting/get?key=site_title')];
      await here.call('/api/admin/setting/save', [{ ...Object(item), value: `title of ${name}` }]);
      const [base] = [here === one ? replicas.second : replicas.first];
      const title = async () => at((await api(base).get('/api/public/settings')).data, 'site_title');
      await waitFor('the title there', async () => (await title()) === `title of ${name}`, { withinMs });
    }
  };

  test('know of each storage and setting within two seconds', async () => {
    // The first requests connect what is not connected yet.
    expect((await two.post('/api/fs/list', { path: '/' })).message).toMatch(/please add a storage first/);
    await follows(WITH_BUS_MS);
  });

  test('take settings from both at the same time and lose none', async () => {
    const save = async (through: Api, key: string, value: string) =>
      through.call('/api/admin/setting/save', [{ ...Object(await dataOf(through, `/api/admin/setting/get?key=${key}`)), value }]);
    const keys = ['home_icon', 'main_color', 'announcement', 'ocr_api', 'robots_txt', 'logo'];
    await Promise.all(keys.map((key, place) => save(place % 2 === 0 ? one : two, key, `parallel ${key}`)));
    const items = await dataOf(one, `/api/admin/setting/get?keys=${keys.join(',')}`);
    expect(Array.isArray(items) && items.map((item) => at(item, 'value'))).toEqual(keys.map((key) => `parallel ${key}`));
  });

  test('make one storage of several creations of one mount path', async () => {
    const addition = JSON.stringify({ root_folder_path: replicas.folder, mkdir_perm: '777' });
    const storage = { mount_path: '/same', driver: 'Local', addition };
    const answers = await Promise.all([one, two, one, two].map((through) => through.post('/api/admin/storage/create', storage)));
    expect(answers.filter(({ code }) => code === 200)).toHaveLength(1);
    for (const { code, message } of answers) if (code !== 200) expect(message).toMatch(/^failed create storage in database: /);
  });

  test('go on without the bus, and know of it within five seconds', async () => {
    await replicas.killBus();
    await follows(WITHOUT_BUS_MS);
  });
});
