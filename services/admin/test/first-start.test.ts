import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@wharf/harness';
import { REVISION } from '@wharf/models';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, openInstallation } from './installation.ts';
import { type Replica, setting, storage } from './replica.ts';

let installation: Installation;

beforeAll(async () => {
  installation = await openInstallation();
});
afterEach(() => installation.clear());
afterAll(() => installation?.close());

const list = async (replica: Replica) => (await replica.admin.listStorages({}, replica.as())).content;
const revisionOf = async (replica: Replica) => (await replica.models.adminCounters.findById(REVISION).lean())?.value;

describe('a start', () => {
  it('mounts the folder at /local and makes it, as the form of the driver proposes, without starting the storage', async () => {
    const filesDir = join(installation.dir, 'deep', 'files');
    const replica = await installation.open({ filesDir });
    const [first, ...others] = await list(replica);
    expect(others).toEqual([]);
    expect(first).toMatchObject({ id: 1, mount_path: '/local', driver: 'Local', disabled: false, webdav_policy: 'native_proxy' });
    expect(JSON.parse(first?.addition ?? '')).toEqual({ where: filesDir, shown: true, parallel: 16, mode: '777' });
    expect((await stat(filesDir)).isDirectory()).toBe(true);
    expect(installation.fs.reloads).toEqual([]);
  });

  it('does so as soon as fs is there, and serves meanwhile', async () => {
    installation.fs.asksUntilUp = 2;
    const replica = await installation.open({ filesDir: join(installation.dir, 'files') });
    expect(await list(replica)).toEqual([]);
    await waitFor('the first storage', async () => (await list(replica)).length === 1);
    expect(installation.fs.asksUntilUp).toBe(0);
  });

  it('does so once, also when four replicas start together, and not again after the storage was deleted', async () => {
    const config = { filesDir: join(installation.dir, 'files') };
    const replicas = await Promise.all([1, 2, 3, 4].map(() => installation.open(config)));
    for (const replica of replicas) expect(await list(replica)).toHaveLength(1);
    const [first] = replicas;
    await first?.admin.deleteStorage({ id: 1 }, first.as());
    expect(await list(await installation.open(config))).toEqual([]);
  });

  it('does not do so where a storage is, or was', async () => {
    const before = await installation.open();
    const { id } = await before.admin.createStorage({ storage: storage() }, before.as());
    const config = { filesDir: join(installation.dir, 'files') };
    expect(await list(await installation.open(config))).toHaveLength(1);
    await before.admin.deleteStorage({ id }, before.as());
    expect(await list(await installation.open(config))).toEqual([]);
  });

  it('finishes a first start that was cut off after the storage was written', async () => {
    const config = { filesDir: join(installation.dir, 'files') };
    const before = await installation.open(config);
    await before.models.adminCounters.deleteMany({});
    const replica = await installation.open(config);
    expect(await list(replica)).toHaveLength(1);
    expect((await replica.admin.createStorage({ storage: storage() }, replica.as())).id).toBe(2);
  });

  it('raises the revision, which covers a change that was never announced', async () => {
    const replica = await installation.open();
    const before = await revisionOf(replica);
    await installation.restartStore();
    expect(await revisionOf(await installation.open())).toBe((before ?? 0) + 1);
  });

  it('makes the unique indexes', async () => {
    const { models } = await installation.open();
    expect(await models.storages.collection.indexes()).toContainEqual(expect.objectContaining({ key: { mount_path: 1 }, unique: true }));
    expect(await models.rules.collection.indexes()).toContainEqual(expect.objectContaining({ key: { path: 1 }, unique: true }));
  });

  it('leaves settings that the factory knows as they are', async () => {
    const before = await installation.open();
    await before.admin.saveSettings({ items: [setting('site_title', 'Quay'), setting('mine', 'x', { flag: 0 })] }, before.as());
    const replica = await installation.open();
    const { items } = await replica.admin.getSettings({ keys: ['site_title', 'mine'] }, replica.as());
    expect(items.map(({ value, flag }) => [value, flag])).toEqual([
      ['Quay', 0],
      ['x', 3],
    ]);
  });
});
