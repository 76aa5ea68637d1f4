import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, api, at, httpRequest, login, waitFor } from '@wharf/harness';
import { describe, expect, test } from 'vitest';
import { FAMILY_STORAGES } from '../support/family-storages.ts';
import { dataOf } from '../support/people.ts';
import { withSettings } from '../support/settings.ts';
import type { World } from '../support/world.ts';
import { LEFT_OUT, SETTING_TABLE } from './setting-table.ts';

/** Settings row by row, health of storages, export and import, and who may see secrets. */
export function administration(world: World): void {
  const { admin, base } = world;
  const listAll = async (): Promise<unknown[]> => {
    const items = await dataOf(admin, '/api/admin/setting/list');
    if (!Array.isArray(items)) throw new Error('the settings are no list');
    return items;
  };

  describe('every setting', () => {
    test('is listed with its group, type, options, default and flag, and no other is', async () => {
      const factory = await admin.call('/api/admin/setting/default');
      if (!Array.isArray(factory)) throw new Error('the factory settings are no list');
      const shown = factory.map((item) => ['key', 'group', 'type', 'options', 'flag'].map((field) => at(item, field)));
      expect(shown).toEqual(SETTING_TABLE.map(({ key, group, type, options, flag }) => [key, group, type, options, flag]));
      for (const { key, value } of SETTING_TABLE)
        if (value !== undefined)
          expect([
            key,
            at(
              factory.find((item) => at(item, 'key') === key),
              'value',
            ),
          ]).toEqual([key, value]);
      const keys = (await listAll()).map((item) => at(item, 'key'));
      for (const { key } of SETTING_TABLE) expect(keys).toContain(key);
      for (const key of LEFT_OUT) expect(keys).not.toContain(key);
    });

    test('has all of its fields, and indexes follow the order', async () => {
      const items = await listAll();
      for (const item of items)
        expect(item).toMatchObject({
          ...{ key: expect.any(String), value: expect.any(String), help: expect.any(String), type: expect.any(String) },
          ...{ options: expect.any(String), group: expect.any(Number), flag: expect.any(Number) },
        });
      const indexes = items.map((item) => Number(at(item, 'index')));
      expect(indexes).toEqual(indexes.toSorted((left, right) => left - right));
      for (const group of new Set(SETTING_TABLE.map((row) => row.group))) {
        const some = await dataOf(admin, `/api/admin/setting/list?group=${group}`);
        expect(Array.isArray(some) && some.every((item) => at(item, 'group') === group)).toBe(true);
      }
    });

    test('that is public is there for everybody, and nothing else is', async () => {
      const shown = (await api(base).get('/api/public/settings')).data;
      const expected = (await listAll()).filter((item) => [0, 2].includes(Number(at(item, 'flag')))).map((item) => String(at(item, 'key')));
      expect(Object.keys(Object(shown)).toSorted()).toEqual(expected.toSorted());
      for (const value of Object.values(Object(shown))) expect(value).toEqual(expect.any(String));
    });

    test('takes back what it is listed with, all groups at once', async () => {
      const before = await listAll();
      await admin.call('/api/admin/setting/save', before);
      expect(await listAll()).toEqual(before);
    });
  });

  test('each service tells that it works', async () => {
    const { services } = (await dataOf(admin, '/api/admin/state')) as { services: unknown[] };
    const works = (name: string) => expect.objectContaining({ name, works: true, error: '' });
    expect(services).toEqual(['auth', 'admin', 'fs', 'downloader'].map(works));
  });

  describe('storages', () => {
    test('tell how they get on', async () => {
      await admin.post('/api/fs/list', { path: '/local' });
      const health = await dataOf(admin, '/api/admin/storage/health');
      expect(health).toMatchObject({
        content: expect.arrayContaining([
          expect.objectContaining({ mount_path: '/local', state: 'working', breaker: 'closed', last_error: '' }),
        ]),
        total: expect.any(Number),
        replica: expect.any(String),
      });
    });

    test('tell their room when the settings let them', async () => {
      const first = async () => at(await dataOf(admin, '/api/admin/storage/list?page=1&per_page=1'), 'content', 0);
      expect(await first()).not.toHaveProperty('mount_details');
      await withSettings(world, { hide_storage_details_in_manage_page: 'false' }, async () => {
        const details = at(await first(), 'mount_details');
        expect(details).toEqual({ total_space: expect.any(Number), used_space: expect.any(Number), free_space: expect.any(Number) });
        expect(Number(at(details, 'total_space'))).toBe(Number(at(details, 'used_space')) + Number(at(details, 'free_space')));
      });
    });
  });

  describe('the whole configuration', () => {
    const imported = async (input: Record<string, unknown>) => {
      const answer = await admin.call('/api/admin/config/import', input);
      const records = at(answer, 'records');
      if (!Array.isArray(records)) throw new Error('there is no report');
      return { isWritten: at(answer, 'is_written'), records };
    };
    const outcomeOf = (records: unknown[], kind: string, name: string) =>
      at(
        records.find((record) => at(record, 'kind') === kind && at(record, 'name') === name),
        'outcome',
      );

    test('is exported without secrets, and imported with them under a passphrase', async () => {
      const root = join(world.outside, world.unique('exported'));
      await mkdir(root);
      const mount = `/${world.unique('exported-mount')}`;
      const storage = {
        mount_path: mount,
        driver: 'Local',
        order: 3,
        remark: 'canary-free',
        addition: JSON.stringify({ root_folder_path: root, mkdir_perm: '755' }),
      };
      const id = at(await admin.call('/api/admin/storage/create', storage), 'id');
      await admin.call('/api/admin/meta/create', { path: `${mount}/room`, password: 'canary-of-the-room', p_sub: true });
      const username = world.unique('exported-user');
      await admin.call('/api/admin/user/create', { username, password: 'canary-password', base_path: mount, permission: 7 });
      const passphrase = 'a passphrase of mine';

      await withSettings(world, { rpcdl_secret: 'canary-of-the-tool' }, async () => {
        const open = await admin.call('/api/admin/config/export', {});
        const closed = await admin.call('/api/admin/config/export', { passphrase });
        for (const file of [open, closed]) expect(JSON.stringify(file)).not.toMatch(/canary-(of|pass)/);
        expect(at(open, 'secrets')).toBe('omitted');

        // Everything goes, and comes back from the file.
        await admin.call(`/api/admin/storage/delete?id=${id}`);
        const rules = at(await dataOf(admin, '/api/admin/meta/list'), 'content');
        const rule = Array.isArray(rules) ? rules.find((each) => at(each, 'path') === `${mount}/room`) : undefined;
        await admin.call(`/api/admin/meta/delete?id=${at(rule, 'id')}`);
        const users = at(await dataOf(admin, '/api/admin/user/list'), 'content');
        const user = Array.isArray(users) ? users.find((each) => at(each, 'username') === username) : undefined;
        await admin.call(`/api/admin/user/delete?id=${at(user, 'id')}`);

        expect((await admin.post('/api/admin/config/import', { document: closed })).message).toMatch(/give the passphrase/);
        expect((await admin.post('/api/admin/config/import', { document: closed, passphrase: 'another one' })).message).toBe(
          'the passphrase is wrong',
        );
        expect(await imported({ document: closed, passphrase, dry_run: true })).toMatchObject({ isWritten: false });
        const { isWritten, records } = await imported({ document: JSON.stringify(closed), passphrase });
        expect(isWritten).toBe(true);
        for (const [kind, name] of [
          ['storage', mount],
          ['rule', `${mount}/room`],
          ['user', username],
        ] as const)
          expect([kind, outcomeOf(records, kind, name)]).toEqual([kind, 'created']);
        expect((await admin.post('/api/fs/list', { path: mount })).code).toBe(200);
        const again = at(await dataOf(admin, '/api/admin/meta/list'), 'content');
        expect(Array.isArray(again) && again.find((each) => at(each, 'path') === `${mount}/room`)).toMatchObject({
          password: 'canary-of-the-room',
        });
        expect((await imported({ document: closed, passphrase })).isWritten).toBe(false);
      });
      expect((await api(base).post('/api/auth/login', { username, password: '' })).code).toBe(401);
    });

    test('is taken from a backup of the family, and what cannot be taken is named', async () => {
      const username = world.unique('backup-user');
      const path = `/local/${world.unique('backup-rule')}`;
      const backup = {
        encrypted: '',
        settings: [
          { key: 'version', value: 'v3.38.0', help: '', type: 'string', options: '', group: 1, flag: 2 },
          { key: 'customize_head', value: '<b>', help: '', type: 'text', options: '', group: 4, flag: 1 },
        ],
        users: [{ id: 40, username, password: '', base_path: '/local', role: 0, disabled: false, permission: 1, sso_id: '', otp: false }],
        storages: [{ id: 9, mount_path: '/cloud', driver: 'Some Cloud', order: 0, addition: '{"cookie":"c"}', status: 'work' }],
        metas: [
          {
            id: 3,
            path,
            password: 'p',
            p_sub: true,
            write: false,
            w_sub: false,
            hide: '',
            h_sub: false,
            readme: '',
            r_sub: false,
            read_users: [40],
          },
        ],
      };
      const { isWritten, records } = await imported({ document: backup });
      expect(isWritten).toBe(true);
      expect(records).toContainEqual({ kind: 'storage', name: '/cloud', outcome: 'skipped', note: 'no driver named: Some Cloud' });
      expect(records).toContainEqual({
        kind: 'setting',
        name: 'customize_head',
        outcome: 'skipped',
        note: 'this version has no such setting',
      });
      expect([outcomeOf(records, 'user', username), outcomeOf(records, 'rule', path)]).toEqual(['created', 'created']);
      const rules = at(await dataOf(admin, '/api/admin/meta/list'), 'content');
      const rule = Array.isArray(rules) ? rules.find((each) => at(each, 'path') === path) : undefined;
      await admin.call(`/api/admin/meta/delete?id=${at(rule, 'id')}`);
    });

    test('is taken with every kind of storage that the family has here too, and what is left out of each is named', async () => {
      const place = (index: number) => `/${world.unique(`family-${index}`)}`;
      const storages = FAMILY_STORAGES.map(({ driver, addition, opens }, index) => ({
        ...{ id: index + 1, mount_path: place(index), order: 0, driver, cache_expiration: 30, status: 'work', remark: '' },
        ...{ addition: JSON.stringify(addition), modified: '2024-01-02T03:04:05Z', disabled: !opens, order_by: '', web_proxy: false },
        ...{ webdav_policy: 'native_proxy', down_proxy_url: '', extract_folder: '' },
      }));
      const mountOf = (driver: string) => storages.find((each) => each.driver === driver)?.mount_path ?? '';
      const { records } = await imported({ document: { encrypted: '', settings: [], users: [], storages, metas: [] } });
      for (const { driver, outcome, note } of FAMILY_STORAGES)
        expect(records).toContainEqual({ kind: 'storage', name: mountOf(driver), outcome, note });
      const stored = async () => {
        const content = at(await dataOf(admin, '/api/admin/storage/list'), 'content');
        if (!Array.isArray(content)) throw new Error('there is no list of storages');
        return new Map(content.map((each: unknown) => [at(each, 'mount_path'), each]));
      };
      for (const { driver, opens } of FAMILY_STORAGES.filter(({ outcome }) => outcome === 'created'))
        await waitFor(`${driver} to be as it should`, async () => {
          return at((await stored()).get(mountOf(driver)), 'status') === (opens ? 'work' : 'disabled');
        });
      const names = async (path: string) => {
        const content = at(await admin.call('/api/fs/list', { path }), 'content');
        return Array.isArray(content) ? content.map((entry: unknown) => at(entry, 'name')) : [];
      };
      expect(await names(`${mountOf('UrlTree')}/films`)).toEqual(['a.mkv']);
      expect(await names(mountOf('Virtual'))).toHaveLength(5);
      expect(await names(mountOf('Alias'))).toEqual(await names('/local'));
      for (const each of (await stored()).values())
        if (storages.some(({ mount_path }) => mount_path === at(each, 'mount_path')))
          await admin.call(`/api/admin/storage/delete?id=${at(each, 'id')}`);
    });

    test('is not taken at all when a record of it cannot be', async () => {
      const username = world.unique('never');
      const { isWritten, records } = await imported({ document: { users: [{ username, role: 0 }], metas: [{ path: '/x', hide: '(' }] } });
      expect([isWritten, outcomeOf(records, 'rule', '/x')]).toEqual([false, 'failed']);
      const users = at(await dataOf(admin, '/api/admin/user/list'), 'content');
      expect(JSON.stringify(users)).not.toContain(username);
    });
  });

  describe('secrets', () => {
    test('are shown to nobody but administrators, through no route', async () => {
      const username = world.unique('curious');
      const canary = 'canary-for-the-curious';
      await admin.call('/api/admin/user/create', { username, password: 'curious-pass', base_path: '/', permission: 3 });
      const curious = await login(base, username, 'curious-pass');
      await admin.call('/api/admin/meta/create', { path: '/local/guarded', password: canary, p_sub: true });
      await withSettings(world, { aria2_secret: canary, privacy_regs: `none-${canary}` }, async () => {
        const document = (await httpRequest(base, { path: '/api/openapi.json' })).json();
        const paths = Object.entries(Object(at(document, 'paths')));
        expect(paths.length).toBeGreaterThan(50);
        for (const who of [curious, api(base)]) await expectNoSecret(who, paths, canary);
      });
      const rules = at(await dataOf(admin, '/api/admin/meta/list'), 'content');
      const rule = Array.isArray(rules) ? rules.find((each) => at(each, 'path') === '/local/guarded') : undefined;
      await admin.call(`/api/admin/meta/delete?id=${at(rule, 'id')}`);
    });
  });
}

/** Asks every GET and POST route with an input that would make many of them answer something. */
async function expectNoSecret(who: Api, paths: readonly [string, unknown][], canary: string): Promise<void> {
  for (const [path, methods] of paths) {
    if (!path.startsWith('/api/') || /logout|events|delete|revoke|me\/update|2fa|reset|app_password|login/.test(path)) continue;
    for (const method of Object.keys(Object(methods))) {
      const answer =
        method === 'get'
          ? await who.get(`${path}?id=1&key=aria2_secret&group=5`)
          : await who.post(path, { id: 1, path: '/local', key: 'aria2_secret' });
      expect(JSON.stringify(answer.data ?? '') + answer.message, `${method} ${path}`).not.toContain(canary);
      if (path.startsWith('/api/admin/')) expect([403, 401], `${method} ${path}`).toContain(answer.code);
    }
  }
}
