import { api, at, httpRequest } from '@wharf/harness';
import { describe, expect, test } from 'vitest';
import { put, rawPath } from '../support/files.ts';
import { dataOf } from '../support/people.ts';
import { saveSettings, settingItems, withSettings } from '../support/settings.ts';
import type { World } from '../support/world.ts';

/** Settings and what they do. */
export function settings(world: World): void {
  const { admin, base } = world;
  const value = async (key: string) => at(await dataOf(admin, `/api/admin/setting/get?key=${key}`), 'value');

  describe('settings', () => {
    test('a saved public setting is what everybody reads next', async () => {
      await withSettings(world, { site_title: 'Ours & <yours>', announcement: '' }, async () => {
        expect((await api(base).get('/api/public/settings')).data).toMatchObject({ site_title: 'Ours & <yours>', announcement: '' });
        const page = (await httpRequest(base, { path: '/' })).text();
        expect(page).not.toContain('<yours>');
        expect(page).toContain('Ours &amp; &lt;yours&gt;');
      });
      expect((await api(base).get('/api/public/settings')).data).not.toMatchObject({ site_title: 'Ours & <yours>' });
    });

    test('without sign_all links carry no signature and need none; with it they do', async () => {
      const { path } = await world.folder('sign');
      await put(admin, base, `${path}/f.txt`, 'f');
      await withSettings(world, { sign_all: 'false' }, async () => {
        expect(await admin.post('/api/fs/get', { path: `${path}/f.txt` })).toMatchObject({ data: { sign: '' } });
        const link = await rawPath(admin, `${path}/f.txt`);
        expect(link).not.toContain('sign=');
        expect((await httpRequest(base, { path: link })).text()).toBe('f');
      });
      const link = await rawPath(admin, `${path}/f.txt`);
      expect(link).toMatch(/\?sign=[\w%-]+%3A0$/);
      expect((await httpRequest(base, { path: link.split('?')[0] ?? '' })).status).toBe(401);
    });

    test('link_expiration dates the signatures', async () => {
      const { path } = await world.folder('expiry');
      await put(admin, base, `${path}/f.txt`, 'f');
      await withSettings(world, { link_expiration: '2' }, async () => {
        const link = new URLSearchParams((await rawPath(admin, `${path}/f.txt`)).split('?')[1]);
        const expiresAt = Number(link.get('sign')?.split(':')[1]) * 1000;
        expect(Math.abs(expiresAt - Date.now() - 2 * 3_600_000)).toBeLessThan(60_000);
        expect((await httpRequest(base, { path: await rawPath(admin, `${path}/f.txt`) })).text()).toBe('f');
      });
    });

    test('ignore_system_files refuses what operating systems litter', async () => {
      const { path } = await world.folder('litter');
      await withSettings(world, { ignore_system_files: 'true' }, async () => {
        for (const name of ['.DS_Store', 'desktop.ini', 'Thumbs.db', '._x'])
          expect(await put(admin, base, `${path}/${name}`, 'x'), name).toMatchObject({ code: 403, message: 'system file upload ignored' });
        expect(await put(admin, base, `${path}/fine.txt`, 'x')).toMatchObject({ code: 200 });
      });
      expect(await put(admin, base, `${path}/.DS_Store`, 'x')).toMatchObject({ code: 200 });
    });

    test('the type settings decide the type of an entry', async () => {
      const { path } = await world.folder('types');
      const types = { 'a.mp4': 2, 'a.mp3': 3, 'a.txt': 4, 'a.JPG': 5, 'a.xyz': 0 };
      for (const name of Object.keys(types)) await put(admin, base, `${path}/${name}`, 'x');
      const typeOf = async (name: string) => at((await admin.post('/api/fs/get', { path: `${path}/${name}` })).data, 'type');
      for (const [name, type] of Object.entries(types)) expect(await typeOf(name), name).toBe(type);
      await withSettings(world, { text_types: 'xyz,abc' }, async () => {
        expect(await typeOf('a.xyz')).toBe(4);
        expect(await typeOf('a.txt')).toBe(0);
      });
    });

    test('privacy_regs mask what messages give away', async () => {
      const message = async (path: string) => (await admin.post('/api/fs/list', { path })).message;
      expect(await message('/none/10.20.30.40')).toBe('failed get storage: storage not found; rawPath: /none/***********');
      await withSettings(world, { privacy_regs: 'sec\\w+t' }, async () => {
        expect(await message('/none/10.20.30.40/secret')).toBe('failed get storage: storage not found; rawPath: /none/10.20.30.40/******');
      });
    });

    test('a save with one value that cannot be used stores nothing', async () => {
      const [title, regs] = [await value('site_title'), await value('privacy_regs')];
      const items = await settingItems(world, { site_title: 'not this', privacy_regs: 'fine\n(' });
      expect(await admin.post('/api/admin/setting/save', items)).toMatchObject({
        code: 500,
        message: expect.stringMatching(/^failed to execute hook on privacy_regs: ./),
      });
      expect([await value('site_title'), await value('privacy_regs')]).toEqual([title, regs]);
    });

    test('a whole group goes back as it came, and read-only values stay', async () => {
      const group = await dataOf(admin, '/api/admin/setting/list?group=1');
      if (!Array.isArray(group)) throw new Error('the group is no list');
      expect(group.every((item) => at(item, 'group') === 1)).toBe(true);
      const version = await value('version');
      expect(version).toMatch(/^v4\.2\.\d+$/);
      const changed = group.map((item) => (at(item, 'key') === 'version' ? { ...item, value: 'v0.0.1', flag: 0 } : item));
      expect(await admin.post('/api/admin/setting/save', changed)).toMatchObject({ code: 200, data: null });
      expect(await dataOf(admin, '/api/admin/setting/list?group=1')).toEqual(group);
    });

    test('one key is an item, several are a list in their order, and an unknown one fails the whole', async () => {
      expect(await dataOf(admin, '/api/admin/setting/get?key=site_title')).toMatchObject({
        key: 'site_title',
        type: 'string',
        group: 1,
        flag: 0,
      });
      expect(await dataOf(admin, '/api/admin/setting/get?keys=version,site_title')).toMatchObject([
        { key: 'version', flag: 2 },
        { key: 'site_title' },
      ]);
      const unknown = { code: 400, message: 'record not found', data: null };
      for (const query of ['key=nothing', 'keys=version,nothing', ''])
        expect(await admin.get(`/api/admin/setting/get?${query}`)).toMatchObject(unknown);
      const both = await dataOf(admin, '/api/admin/setting/list?groups=5,0');
      expect(new Set(Array.isArray(both) ? both.map((item) => at(item, 'group')) : [])).toEqual(new Set([0, 5]));
    });

    test('a live setting cannot be deleted, one of our own making is stored', async () => {
      expect(await admin.post('/api/admin/setting/delete?key=site_title')).toMatchObject({
        code: 500,
        message: 'setting [site_title] is not deprecated',
      });
      expect(await admin.post('/api/admin/setting/delete?key=nothing')).toMatchObject({
        code: 500,
        message: 'failed to get settingItem: record not found',
      });
      const key = world.unique('own_key').replace('-', '_');
      await admin.call('/api/admin/setting/save', [{ key, value: 'mine', type: 'string', group: 4, flag: 1 }]);
      expect(await value(key)).toBe('mine');
    });

    test('parallel saves of different settings all last', async () => {
      const keys = ['home_icon', 'main_color', 'logo', 'announcement', 'favicon', 'ocr_api'];
      const before = await dataOf(admin, `/api/admin/setting/get?keys=${keys.join(',')}`);
      await Promise.all(keys.map((key) => saveSettings(world, { [key]: `parallel ${key}` })));
      for (const key of keys) expect(await value(key)).toBe(`parallel ${key}`);
      await admin.call('/api/admin/setting/save', before);
    });
  });
}
