import { readSettings, readSettingsRecord, SETTING_CATALOGUE } from '@wharf/models';
import type { SettingItem } from '@wharf/proto/admin';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Installation, openInstallation } from './installation.ts';
import { errorOf, FS, type Replica, SOMEBODY, setting } from './replica.ts';

let installation: Installation;
let replica: Replica;

beforeAll(async () => {
  installation = await openInstallation();
});
beforeEach(async () => {
  replica = await installation.open();
});
afterEach(() => installation.clear());
afterAll(() => installation?.close());

const list = async (groups: number[] = []): Promise<SettingItem[]> => (await replica.admin.listSettings({ groups }, replica.as())).items;
const save = (...items: Array<Partial<SettingItem>>) => replica.admin.saveSettings({ items }, replica.as());
const readValue = async (key: string) => (await replica.admin.getSettings({ keys: [key] }, replica.as())).items[0]?.value;

describe('reading settings', () => {
  it.each([{ items: null }, { items: {} }, { items: [null, { key: 'site_title', value: 7 }] }, { revision: 'x' }])(
    'goes on, and so does saving, where they are stored oddly: %j',
    async (damage) => {
      await save({ key: 'site_title', value: 'mine' });
      await replica.models.settings.collection.updateOne({}, { $set: damage });
      expect(await readValue('site_title')).toBe('items' in damage ? 'Wharf' : 'mine');
      await save({ key: 'site_title', value: 'anew' });
      expect(await readValue('site_title')).toBe('anew');
    },
  );

  it('lists all, in the order of the factory, with the token that auth keeps', async () => {
    const items = await list();
    expect(items.map(({ key }) => key)).toEqual(SETTING_CATALOGUE.map(({ key }) => key));
    expect(items.find(({ key }) => key === 'token')?.value).toBe(installation.auth.token);
    expect(items.find(({ key }) => key === 'index_progress')?.value).toBe('{}');
  });

  it('lists some groups by index, with the tool settings under both names', async () => {
    const items = await list([5, 0]);
    const indexes = items.map(({ index }) => index);
    expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
    expect(items.map(({ key }) => key)).toEqual(
      expect.arrayContaining(['aria2_uri', 'aria2_secret', 'qbittorrent_url', 'qbittorrent_seedtime', 'transmission_uri', 'token']),
    );
    expect(new Set(items.map(({ group }) => group))).toEqual(new Set([5, 0]));
  });

  it('gets items in the order of the keys', async () => {
    const keys = ['token', 'version', 'site_title', 'version'];
    const { items } = await replica.admin.getSettings({ keys }, replica.as());
    expect(items.map(({ key, value }) => [key, value])).toEqual([
      ['token', installation.auth.token],
      ['version', 'v4.2.0'],
      ['site_title', 'Wharf'],
      ['version', 'v4.2.0'],
    ]);
  });

  it.each([[['nobody']], [['version', 'nobody']], [[]]])('does not get %j', async (keys) => {
    expect(await errorOf(replica.admin.getSettings({ keys }, replica.as()))).toMatchObject({
      code: 'RECORD_NOT_FOUND',
      message: 'record not found',
    });
  });

  it('are not asked for by the thousand', async () => {
    const keys = Array.from({ length: 301 }, () => 'version');
    expect(await errorOf(replica.admin.getSettings({ keys }, replica.as()))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('answers factory values with a fresh token, and stores nothing', async () => {
    await save(setting('site_title', 'Quay'));
    const tokens = await Promise.all(
      [1, 2].map(async () => {
        const { items } = await replica.admin.listDefaultSettings({ groups: [0, 1] }, replica.as());
        expect(items.find(({ key }) => key === 'site_title')?.value).toBe('Wharf');
        return items.find(({ key }) => key === 'token')?.value;
      }),
    );
    expect(tokens[0]).toMatch(/^wharf-[0-9a-f-]{36}[A-Za-z0-9]{64}$/);
    expect(new Set([...tokens, await readValue('token')]).size).toBe(3);
  });

  it('is for administrators', async () => {
    const as = replica.as(SOMEBODY);
    for (const method of ['listSettings', 'saveSettings', 'listStorages', 'listRules'] as const)
      expect(await errorOf(replica.admin[method]({}, as))).toMatchObject({ code: 'PERMISSION_DENIED', message: 'You are not an admin' });
    expect((await errorOf(replica.admin.reportStorageStatus({ id: 1 }, replica.as()))).code).toBe('PERMISSION_DENIED');
    expect((await replica.admin.listRules({}, replica.as(FS))).total).toBe(0);
  });
});

describe('saving settings', () => {
  it('takes everything back as it was listed, twice, and changes nothing', async () => {
    const before = await list();
    await save(...before);
    const { revision } = (await readSettingsRecord(replica.models)) ?? {};
    await save(...before);
    expect(await list()).toEqual(before);
    expect((await readSettingsRecord(replica.models))?.revision).toBe(revision);
  });

  it('keeps a change over a restart, for all who read the store', async () => {
    await save(setting('site_title', 'Quay'), setting('aria2_uri', 'http://127.0.0.1:1/jsonrpc'));
    await installation.restartStore();
    replica = await installation.open();
    expect(await readValue('site_title')).toBe('Quay');
    expect(await readValue('rpcdl_uri')).toBe('http://127.0.0.1:1/jsonrpc');
    expect((await readSettings(replica.models)).public['site_title']).toBe('Quay');
  });

  it('seals secrets in the store, those of other installations too, and opens them for administrators', async () => {
    await save(setting('rpcdl_secret', 'canary one'), setting('torrent_url', 'http://u:canary-two@host:8080/'));
    await save(setting('s3_secret_access_key', 'canary three', { flag: 1 }), setting('mine', 'shown', { flag: 0 }));
    const stored = JSON.stringify(await replica.models.settings.find().lean());
    expect(stored).not.toContain('canary');
    expect(stored).toContain('shown');
    expect(await readValue('aria2_secret')).toBe('canary one');
    expect(await readValue('s3_secret_access_key')).toBe('canary three');
    expect(replica.log()).not.toContain('canary');
  });

  it('seals at its start what lay in the store in clear', async () => {
    const item = { key: 'rpcdl_secret', value: 'canary', help: '', type: 'string', options: '', group: 5, flag: 1 };
    await replica.models.settings.create({ _id: 'settings', revision: 1, items: [item] });
    replica = await installation.open();
    expect(await readValue('rpcdl_secret')).toBe('canary');
    expect(JSON.stringify(await replica.models.settings.find().lean())).not.toContain('canary');
  });

  it('stores nothing when one value is refused', async () => {
    const token = installation.auth.token;
    const error = await errorOf(
      save(setting('site_title', 'Quay'), setting('token', 'another token of 30 characters'), setting('max_index_depth', 'deep')),
    );
    expect(error).toMatchObject({ code: 'FAILED_PRECONDITION', details: { key: 'max_index_depth' } });
    expect(error.message).toMatch(/^failed to execute hook on max_index_depth: /);
    expect([await readValue('site_title'), installation.auth.token]).toEqual(['Wharf', token]);
  });

  it('hands the token to auth and keeps it nowhere', async () => {
    await save(setting('token', 'a token of more than 16 characters'));
    expect(installation.auth.token).toBe('a token of more than 16 characters');
    expect(await readValue('token')).toBe(installation.auth.token);
    expect(await replica.models.settings.find().lean()).toEqual([]);
  });

  it('stores nothing when auth refuses the token', async () => {
    expect(await errorOf(save(setting('site_title', 'Quay'), setting('token', 'short')))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: 'failed to execute hook on token: a permanent token has 16 characters at least',
    });
    expect(await readValue('site_title')).toBe('Wharf');
  });

  it('loses nothing of 40 parallel saves of different keys through two replicas', async () => {
    const other = await installation.open();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, place) => {
        const { admin, as } = place % 2 === 0 ? replica : other;
        return admin.saveSettings({ items: [setting(`mine_${place}`, String(place))] }, as());
      }),
    );
    const saved = (await list()).filter(({ key }) => key.startsWith('mine_'));
    expect(saved.map(({ key, value }) => `${key}=${value}`).toSorted()).toEqual(
      Array.from({ length: 40 }, (_, place) => `mine_${place}=${place}`).toSorted(),
    );
    expect(new Set(answers.map(({ revision }) => revision)).size).toBe(40);
  });

  it('announces the revision after the change', async () => {
    replica.events.length = 0;
    const { revision } = await save(setting('site_title', 'Quay'));
    expect(replica.events).toEqual([{ revision }]);
  });

  it('announces also what was written already: by a call, perhaps, that could not announce it', async () => {
    await save(setting('site_title', 'Quay'));
    const before = replica.events.length;
    const { revision } = await save(setting('site_title', 'Quay'));
    expect(replica.events.slice(before)).toEqual([{ revision }]);
  });
});

describe('the search index', () => {
  const progress = { obj_count: 12, is_done: true, last_done_time: '2026-01-02T03:04:05.000Z', error: '' };

  it('shows as index_progress what fs reported, and nobody else can say', async () => {
    await replica.admin.reportIndexProgress(progress, replica.as(FS));
    expect(JSON.parse((await readValue('index_progress')) ?? '')).toEqual(progress);
    await save(setting('index_progress', '{}'));
    expect(JSON.parse((await readValue('index_progress')) ?? '')).toEqual(progress);
    replica.events.length = 0;
    await replica.admin.reportIndexProgress({ obj_count: 0, is_done: false, error: 'why' }, replica.as(FS));
    expect(JSON.parse((await readValue('index_progress')) ?? '')).toEqual({
      obj_count: 0,
      is_done: false,
      last_done_time: null,
      error: 'why',
    });
    expect(replica.events).toEqual([]);
    expect(await errorOf(replica.admin.reportIndexProgress(progress, replica.as()))).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('is not exchanged while it is being built', async () => {
    await save(setting('search_index', 'database'));
    installation.fs.isIndexing = true;
    expect(await errorOf(save(setting('search_index', 'none'), setting('site_title', 'Quay')))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: 'failed to execute hook on search_index: index is running',
    });
    expect(await readValue('site_title')).toBe('Wharf');
    await save(setting('search_index', 'database'), setting('site_title', 'Quay'));
    installation.fs.isIndexing = false;
    await save(setting('search_index', 'none'));
    expect(await readValue('search_index')).toBe('none');
  });
});

describe('deprecated settings', () => {
  it('are those that only were saved, after a restart, and can be deleted', async () => {
    await save(setting('115_temp_dir', '/tmp', { flag: 1, group: 5 }));
    expect(await errorOf(replica.admin.deleteSetting({ key: '115_temp_dir' }, replica.as()))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: 'setting [115_temp_dir] is not deprecated',
    });
    replica = await installation.open();
    expect((await list([5])).find(({ key }) => key === '115_temp_dir')).toMatchObject({ value: '/tmp', flag: 3 });
    await replica.admin.deleteSetting({ key: '115_temp_dir' }, replica.as());
    expect((await list([5])).map(({ key }) => key)).not.toContain('115_temp_dir');
  });

  it.each(['site_title', 'aria2_uri', 'token'])('are not %s', async (key) => {
    expect(await errorOf(replica.admin.deleteSetting({ key }, replica.as()))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: `setting [${key}] is not deprecated`,
    });
  });

  it('must exist to be deleted', async () => {
    expect(await errorOf(replica.admin.deleteSetting({ key: 'nobody' }, replica.as()))).toMatchObject({
      code: 'RECORD_NOT_FOUND',
      message: 'failed to get settingItem: record not found',
    });
  });
});
