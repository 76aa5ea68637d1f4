import { waitFor } from '@wharf/harness';
import { readAdminRevision } from '@wharf/models';
import type { Storage } from '@wharf/proto/admin';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Installation, openInstallation } from './installation.ts';
import { errorOf, FS, type Replica, storage } from './replica.ts';

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

const create = (rest: Partial<Storage> = {}) => replica.admin.createStorage({ storage: storage(rest) }, replica.as());
const update = (id: number, rest: Partial<Storage> = {}) =>
  replica.admin.updateStorage({ storage: storage({ id, ...rest }) }, replica.as());
const get = async (id: number): Promise<Storage | null> => (await replica.admin.getStorage({ id }, replica.as())).storage;
const list = (page = 0, per_page = 0) => replica.admin.listStorages({ page, per_page }, replica.as());
const revisionNow = () => readAdminRevision(replica.models);

describe('creating a storage', () => {
  it('stores it, starts it at its own revision and keeps what the driver made of the addition', async () => {
    const { id, revision } = await create({ mount_path: 'a\\b/', status: 'stale', modified: '2001-01-01T00:00:00Z' });
    expect(id).toBe(1);
    expect(installation.fs.reloads).toEqual([{ id, revision }]);
    const stored = await get(id);
    expect(stored).toMatchObject({ id, mount_path: '/a/b', status: 'work', addition: '{"root_folder_path":"/srv","normalised":true}' });
    expect(Date.now() - Date.parse(stored?.modified ?? '')).toBeLessThan(60_000);
    expect(replica.events.at(-1)).toEqual({ revision, storageId: id });
  });

  it('keeps the addition unreadable in the store, and out of the log', async () => {
    await create({ addition: '{"password":"canary-password"}' });
    const raw = await replica.models.storages.collection.find().toArray();
    expect(raw).toHaveLength(1);
    expect(JSON.stringify(raw)).not.toContain('canary');
    expect(replica.log()).not.toContain('canary');
    expect((await get(1))?.addition).toContain('canary-password');
  });

  it('takes another change of one whose cache policies an earlier version took', async () => {
    const { id } = await create();
    const policies = '/a:1\n'.repeat(300);
    await replica.models.storages.updateOne({ _id: id }, { $set: { custom_cache_policies: policies } });
    await update(id, { custom_cache_policies: policies, order: 7 });
    expect(await get(id)).toMatchObject({ order: 7, custom_cache_policies: policies });
    expect(await errorOf(update(id, { custom_cache_policies: `${policies}/b:1` }))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('goes on where what is stored of another one cannot be opened, which is listed, and saved once it is given anew', async () => {
    const { id } = await create({ mount_path: '/broken' });
    await replica.models.storages.updateOne({ _id: id }, { $set: { addition: 'v1.damaged' } });
    await create({ mount_path: '/other' });
    const { content } = await list();
    expect(content.map(({ mount_path }) => mount_path)).toEqual(['/broken', '/other']);
    const again = content.find((each) => each.id === id) ?? {};
    expect(await errorOf(update(id, { ...again, order: 1 }))).toMatchObject({ message: 'addition is not a JSON object' });
    const pieces = await Array.fromAsync(replica.admin.exportConfiguration({ passphrase: 'long enough' }, replica.as()));
    const exported = JSON.parse(Buffer.concat(pieces.map(({ document }) => document)).toString());
    expect(exported.storages.map((each: Storage) => [each.mount_path, each.addition, each.disabled])).toEqual([
      ['/broken', {}, true],
      ['/other', expect.objectContaining({ root_folder_path: '/srv' }), false],
    ]);
    await update(id, { mount_path: '/broken', addition: '{"root_folder_path":"/new"}' });
    expect((await get(id))?.addition).toContain('/new');
  });

  it.each([{ order: 'x' }, { cache_expiration: {} }, { modified: null }, { driver: null }, { addition: 7 }, { enable_sign: 'x' }])(
    'goes on where another one is stored oddly, which is listed, and works once it is saved: %j',
    async (damage) => {
      const { id } = await create({ mount_path: '/odd' });
      await replica.models.storages.collection.updateOne({ _id: id } as object, { $set: damage });
      const other = await create({ mount_path: '/other' });
      const isHarmless = ['order', 'cache_expiration', 'modified'].some((field) => field in damage);
      const odd = (await list()).content.find((each) => each.id === id);
      expect([odd?.disabled, odd?.status]).toEqual(isHarmless ? [false, 'work'] : [true, `it is stored oddly: ${Object.keys(damage)}`]);
      await Array.fromAsync(replica.admin.exportConfiguration({ passphrase: '' }, replica.as()));
      if ('driver' in damage) await replica.admin.deleteStorage({ id }, replica.as());
      else await update(id, { mount_path: '/odd' });
      const { content } = await list();
      expect(content.filter((each) => each.disabled || each.status !== 'work')).toEqual([]);
      expect(content.some((each) => each.id === other.id)).toBe(true);
    },
  );

  it('keeps the storage when it cannot be started, and says why', async () => {
    const error = await errorOf(create({ addition: '{"fail":"root folder /x not exists"}' }));
    expect(error).toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      message: 'failed init storage but storage is already created: failed init storage: root folder /x not exists',
      details: { id: 1 },
    });
    expect(await get(1)).toMatchObject({ status: 'root folder /x not exists', disabled: false });
  });

  it('refuses what all storages together have no room for, also where several come at once', async () => {
    const long = 'x'.repeat(65_000);
    const texts = { remark: long, custom_cache_policies: long, down_proxy_url: long };
    await create({ mount_path: '/0', ...texts });
    const { collection } = replica.models.storages;
    const [stored] = await collection.find().toArray();
    // 16 MiB have room for 85 of them.
    await collection.insertMany(Array.from({ length: 83 }, (_, i) => ({ ...stored, _id: 100 + i, mount_path: `/${100 + i}` })) as object[]);
    const outcomes = await Promise.allSettled([1, 2, 3].map((i) => create({ mount_path: `/more${i}`, ...texts })));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const short = await create({ mount_path: '/short' });
    expect(await errorOf(update(short.id, { mount_path: '/short', ...texts }))).toMatchObject({ code: 'QUOTA_EXCEEDED' });
  });

  it('keeps the storage when fs is away', async () => {
    installation.fs.isDown = true;
    const error = await errorOf(create());
    expect(error).toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      message: 'failed init storage but storage is already created: failed init storage: a service cannot be reached',
      details: { id: 1 },
    });
    expect((await get(1))?.status).toBe('a service cannot be reached');
  });

  it('stores a disabled one without starting it', async () => {
    const { id } = await create({ disabled: true });
    expect(await get(id)).toMatchObject({ status: 'disabled', disabled: true });
    expect(installation.fs.reloads).toEqual([]);
  });

  it('refuses an unknown driver and stores nothing', async () => {
    expect(await errorOf(create({ driver: 'Nothing' }))).toMatchObject({
      code: 'RECORD_NOT_FOUND',
      message: 'failed get driver new: no driver named: Nothing',
      details: { id: 0 },
    });
    expect((await list()).total).toBe(0);
  });

  it('refuses a mount path that is taken, however it is written', async () => {
    await create({ mount_path: '/a' });
    const error = await errorOf(create({ mount_path: '//a/' }));
    expect(error).toMatchObject({ code: 'RECORD_EXISTS' });
    expect(error.message).toBe('failed create storage in database: the mount path /a is taken');
    expect((await create({ mount_path: '/' })).id).toBeGreaterThan(1);
  });

  it('lets one of ten parallel creates of one mount path win', async () => {
    const other = await installation.open();
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, place) => {
        const { admin, as } = place % 2 === 0 ? replica : other;
        return admin.createStorage({ storage: storage({ id: place % 3 }) }, as());
      }),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'RECORD_EXISTS' });
    expect((await list()).total).toBe(1);
  });

  it('honours a free id and never gives one out again', async () => {
    expect((await create({ id: 7 })).id).toBe(7);
    expect((await create({ id: 7, mount_path: '/b' })).id).toBe(8);
    await replica.admin.deleteStorage({ id: 8 }, replica.as());
    expect((await create({ mount_path: '/b' })).id).toBe(9);
    expect((await create({ id: -3, mount_path: '/c' })).id).toBe(10);
    expect((await create({ id: Number.MAX_SAFE_INTEGER, mount_path: '/d' })).id).toBe(11);
  });

  it.each([
    ['no storage', undefined, 'INVALID_ARGUMENT'],
    ['no mount path', { mount_path: '' }, 'INVALID_ARGUMENT'],
    ['a mount path that climbs', { mount_path: '/../a' }, 'UNSAFE_PATH'],
    ['an addition that is no object', { addition: '[1]' }, 'INVALID_ARGUMENT'],
  ])('refuses %s', async (_what, rest, code) => {
    const call = rest ? create(rest) : replica.admin.createStorage({}, replica.as());
    expect((await errorOf(call)).code).toBe(code);
    expect(installation.fs.reloads).toEqual([]);
  });
});

describe('listing storages', () => {
  it('is by order, then id, in pages', async () => {
    for (const [place, order] of [2, 1, 1, 0].entries()) await create({ mount_path: `/${place}`, order });
    const paths = async (page: number, perPage: number) => (await list(page, perPage)).content.map(({ mount_path }) => mount_path);
    expect(await paths(0, 0)).toEqual(['/3', '/1', '/2', '/0']);
    expect(await paths(2, 3)).toEqual(['/0']);
    expect((await list(2, 3)).total).toBe(4);
    expect(await errorOf(replica.admin.getStorage({ id: 99 }, replica.as()))).toMatchObject({ code: 'RECORD_NOT_FOUND' });
  });
});

describe('updating a storage', () => {
  it('replaces everything and starts it anew', async () => {
    const { id } = await create({ remark: 'old', order: 3 });
    const { revision } = await update(id, { mount_path: '/moved', enable_sign: true });
    expect(await get(id)).toMatchObject({ mount_path: '/moved', enable_sign: true, remark: '', order: 0, status: 'work' });
    expect(installation.fs.mounted).toEqual(new Map([[id, '/moved']]));
    expect(installation.fs.reloads.at(-1)).toEqual({ id, revision });
  });

  it('keeps the change when it cannot be started', async () => {
    const { id } = await create();
    expect(await errorOf(update(id, { addition: '{"fail":"refused"}', remark: 'new' }))).toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      message: 'failed init storage: refused',
      details: { id },
    });
    expect(await get(id)).toMatchObject({ status: 'refused', remark: 'new' });
  });

  it('stops a running one that becomes disabled, and starts a disabled one that becomes enabled', async () => {
    const { id } = await create();
    await update(id, { disabled: true });
    expect(await get(id)).toMatchObject({ disabled: true, status: 'disabled' });
    expect(installation.fs.mounted.size).toBe(0);
    await update(id, { disabled: false });
    expect(await get(id)).toMatchObject({ disabled: false, status: 'work' });
    expect(installation.fs.mounted.size).toBe(1);
  });

  it('refuses another driver, a taken mount path and an unknown id', async () => {
    const { id } = await create();
    await create({ mount_path: '/b' });
    expect(await errorOf(update(id, { driver: 'Memory' }))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: 'driver cannot be changed',
    });
    expect(await errorOf(update(id, { mount_path: '/b' }))).toMatchObject({ code: 'RECORD_EXISTS' });
    expect(await errorOf(update(99))).toMatchObject({ code: 'RECORD_NOT_FOUND' });
    expect((await get(id))?.mount_path).toBe('/a');
  });

  it('does not write the outcome of a start over a later change', async () => {
    const { id } = await create();
    let open = () => {};
    installation.fs.gate = new Promise((resolve) => {
      open = resolve;
    });
    const slow = update(id, { addition: '{"fail":"the first"}' });
    const failed = errorOf(slow);
    await waitFor('the first start', () => installation.fs.reloads.length === 2);
    installation.fs.gate = Promise.resolve();
    await update(id, { addition: '{"second":true}' });
    open();
    expect((await failed).message).toBe('failed init storage: the first');
    expect(await get(id)).toMatchObject({ status: 'work', addition: '{"second":true,"normalised":true}' });
  });
});

describe('enabling, disabling and deleting', () => {
  it('disables and enables, each once', async () => {
    const { id } = await create();
    await replica.admin.disableStorage({ id }, replica.as());
    expect([(await get(id))?.status, installation.fs.mounted.size]).toEqual(['disabled', 0]);
    expect(await errorOf(replica.admin.disableStorage({ id }, replica.as()))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: 'this storage have disabled',
    });
    const { revision } = await replica.admin.enableStorage({ id }, replica.as());
    expect([(await get(id))?.status, installation.fs.mounted.size]).toEqual(['work', 1]);
    expect(installation.fs.reloads.at(-1)).toEqual({ id, revision });
    expect(await errorOf(replica.admin.enableStorage({ id }, replica.as()))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: 'this storage have enabled',
    });
  });

  it('stays enabled when it cannot be started', async () => {
    const { id } = await create({ disabled: true, addition: '{"fail":"refused"}' });
    expect(await errorOf(replica.admin.enableStorage({ id }, replica.as()))).toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      message: 'failed load storage: refused',
    });
    expect(await get(id)).toMatchObject({ disabled: false, status: 'refused' });
  });

  it('deletes and lets fs drop it, also while fs is away', async () => {
    const first = await create();
    const second = await create({ mount_path: '/b' });
    await replica.admin.deleteStorage({ id: first.id }, replica.as());
    expect([...installation.fs.mounted.keys()]).toEqual([second.id]);
    installation.fs.isDown = true;
    await replica.admin.deleteStorage({ id: second.id }, replica.as());
    expect((await list()).total).toBe(0);
  });

  it.each(['enableStorage', 'disableStorage', 'deleteStorage'] as const)('%s of an unknown id is refused', async (method) => {
    expect((await errorOf(replica.admin[method]({ id: 99 }, replica.as()))).code).toBe('RECORD_NOT_FOUND');
  });
});

describe('reloading all storages', () => {
  it('answers at once and stores each outcome, one failure beside the others', async () => {
    for (const path of ['/a', '/b']) await create({ mount_path: path });
    await create({ mount_path: '/off', disabled: true });
    await errorOf(create({ mount_path: '/bad', addition: '{"fail":"refused"}' }));
    await replica.models.storages.updateMany({ disabled: false }, { $set: { status: '' } });
    installation.fs.reloads.length = 0;
    let open = () => {};
    installation.fs.gate = new Promise((resolve) => {
      open = resolve;
    });
    const { revision } = await replica.admin.reloadStorages({}, replica.as());
    expect((await list()).content.map(({ status }) => status)).toEqual(['', '', 'disabled', '']);
    open();
    const expected = ['work', 'work', 'disabled', 'refused'];
    await waitFor('the outcomes', async () => (await list()).content.every(({ status }, place) => status === expected[place]));
    expect(installation.fs.reloads.every((reload) => reload.revision === revision)).toBe(true);
    expect(installation.fs.reloads).toHaveLength(3);
  });
});

describe('reports of fs', () => {
  const report = (id: number, status: string, addition = '') => replica.admin.reportStorageStatus({ id, status, addition }, replica.as(FS));

  it('change the status without raising the revision, so that replicas of fs do not wake each other', async () => {
    const { id } = await create();
    const before = await revisionNow();
    await report(id, 'disk is gone');
    expect((await get(id))?.status).toBe('disk is gone');
    await report(id, 'disk is gone', '');
    expect(await revisionNow()).toBe(before);
  });

  it('raise it for a changed addition, once, which is sealed again', async () => {
    const { id } = await create();
    const before = await revisionNow();
    await report(id, 'work', '{"refresh_token":"canary-renewed"}');
    await report(id, 'work', '{"refresh_token":"canary-renewed"}');
    expect(await get(id)).toMatchObject({ status: 'work', addition: '{"refresh_token":"canary-renewed"}' });
    expect(await revisionNow()).toBe(before + 1);
    expect(replica.events.at(-1)).toEqual({ revision: before + 1, storageId: id });
    expect(JSON.stringify(await replica.models.storages.collection.find().toArray())).not.toContain('canary');
  });

  it('do not touch a disabled storage', async () => {
    const { id } = await create({ disabled: true });
    await report(id, 'work', '{"x":1}');
    expect(await get(id)).toMatchObject({ status: 'disabled', addition: '{"root_folder_path":"/srv"}' });
  });
});

describe('an item that a driver keeps', () => {
  const keep = (id: number, before: string, after: string) =>
    replica.admin.keepStorageItem({ id, name: 'token', before, after }, replica.as(FS));
  const tokenOf = async (id: number) => JSON.parse((await get(id))?.addition ?? '{}').token;

  it('is replaced where it is still what it was, at a new revision', async () => {
    const { id, revision } = await create({ addition: '{"token":"one","other":"x"}' });
    expect(await keep(id, 'one', 'two')).toEqual({ value: 'two' });
    expect(await revisionNow()).toBeGreaterThan(revision);
    expect(JSON.parse((await get(id))?.addition ?? '{}')).toMatchObject({ token: 'two', other: 'x' });
    expect(await keep(id, 'one', 'three')).toEqual({ value: 'two' });
    expect(await tokenOf(id)).toBe('two');
  });

  it('of many that replace it at once one does, and all are told by which', async () => {
    const { id } = await create({ addition: '{"token":"one"}' });
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((after) => keep(id, 'one', after)));
    const token = await tokenOf(id);
    expect(answers).toEqual(Array.from({ length: 4 }, () => ({ value: token })));
  });

  it('is replaced of a storage that was switched off meanwhile, and is there when that is switched on', async () => {
    const { id } = await create({ addition: '{"token":"one"}', disabled: true });
    expect(await keep(id, 'one', 'two')).toEqual({ value: 'two' });
    expect(await get(id)).toMatchObject({ disabled: true, status: 'disabled' });
    await replica.admin.enableStorage({ id }, replica.as());
    expect(await tokenOf(id)).toBe('two');
  });

  it('of a storage that is gone is refused, and to whoever is no service', async () => {
    expect(await errorOf(keep(99, 'one', 'two'))).toMatchObject({ code: 'RECORD_NOT_FOUND' });
    const { id } = await create({ addition: '{"token":"one"}' });
    const error = await errorOf(replica.admin.keepStorageItem({ id, name: 'token', before: 'one', after: 'two' }, replica.as()));
    expect(error).toMatchObject({ code: 'PERMISSION_DENIED' });
  });
});
