import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeepPartial, TestStorageRequest } from '@wharf/proto/fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { mpath } from '../src/domain/testing/memory-tree.ts';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { stringItem } from '../src/driver-contract/config-items.ts';
import { defineDriver } from '../src/driver-contract/define-driver.ts';
import { localDriver } from '../src/drivers/local/index.ts';
import { MemoryDriver } from '../src/drivers/memory/driver.ts';
import { type Installation, openInstallation, type Replica, USER } from './installation.ts';

let installation: Installation;
let replica: Replica;
const inner = createTestDriver('Inner');
const shown = createTestDriver('Shown');
const opened: number[] = [];
/** Renews its token whenever it is opened, as services of the network ask for it. */
const renewing = defineDriver({
  name: 'Renewing',
  label: 'Renewing',
  configSchema: z.object({ address: stringItem(), token: stringItem({ kept: true, secret: true }) }),
  async open(_config, { keptItem, storageId }) {
    const token = keptItem('token');
    opened.push(storageId);
    await token.replace(token.value, `${token.value}+`);
    return new MemoryDriver();
  },
});

beforeAll(async () => {
  installation = await openInstallation();
  await installation.writeStorage({ _id: 1, mount_path: '/inner', driver: 'Inner', addition: '{"store":"one"}' });
  await installation.writeStorage({ _id: 2, mount_path: '/off', driver: 'Inner', addition: '{"store":"two"}', disabled: true });
  await installation.writeStorage({ _id: 3, mount_path: '/odd', driver: 'Inner', addition: 'no json' });
  await installation.writeStorage({ _id: 4, mount_path: '/old', driver: 'Retired', addition: '{}' });
  const saved = { driver: 'Renewing', addition: '{"address":"a","token":"first"}' };
  await installation.writeStorage({ _id: 5, mount_path: '/renewing', ...saved });
  await installation.writeStorage({ _id: 6, mount_path: '/renewing-off', ...saved, disabled: true });
  replica = await installation.open([inner.definition, { ...shown.definition, internal: false }, renewing, localDriver]);
});
afterAll(() => installation?.close());

const test = (request: DeepPartial<TestStorageRequest>, as = installation.as()) => replica.fs.testStorage(request, as);
const refusal = (request: DeepPartial<TestStorageRequest>, as = installation.as()) =>
  test(request, as).then(
    () => expect.fail('it was not refused'),
    ({ code, message }) => [code, message],
  );

describe('admin/storage/test', () => {
  it('is for administrators', async () => {
    expect((await refusal({ id: 1 }, installation.as(USER)))[0]).toBe('PERMISSION_DENIED');
  });

  it('tells of a storage that nobody saved what works, and how its kind is', async () => {
    const answer = await test({ driver: 'Shown', addition: '{"store":"new"}', write: true });
    const { steps, traits, operations, ...rest } = answer;
    expect(rest).toEqual({ works: true, error: '', clock_skew_ms: null, left_behind: [] });
    expect(steps.map(({ name }) => name)).toEqual(['open', 'list', 'write', 'stat', 'read', 'copy', 'rename', 'remove']);
    for (const step of steps) expect(step).toMatchObject({ ok: true, error: '', elapsed_ms: expect.any(Number) });
    expect(JSON.parse(traits)).toMatchObject({ case_sensitive: true, mod_time_step_ms: 1, max_name_bytes: 255, hashes: [] });
    expect(operations).toEqual(expect.arrayContaining(['list', 'make_directory', 'stat_many']));
    expect(shown.counts()).toEqual({ opened: 1, closed: 1 });
    expect(await Array.fromAsync(shown.storeOf('new').list(mpath('/')))).toEqual([]);
  });

  it('refuses what cannot be saved: no driver, an unknown one, one for tests alone, another one than the saved, too long a form', async () => {
    const unknown = (name: string) => ['RECORD_NOT_FOUND', `failed get driver new: no driver named: ${name}`];
    expect(await refusal({})).toEqual(['INVALID_ARGUMENT', 'driver is required']);
    expect(await refusal({ driver: 'Nothing' })).toEqual(unknown('Nothing'));
    expect(await refusal({ driver: 'Inner' })).toEqual(unknown('Inner'));
    expect(await refusal({ id: 4 })).toEqual(unknown('Retired'));
    const long = JSON.stringify({ store: 'x'.repeat(64 * 1024) });
    expect(await refusal({ driver: 'Shown', addition: long })).toEqual(['INVALID_ARGUMENT', 'addition is longer than 65536 bytes']);
    expect(await refusal({ id: 1, driver: 'Shown' })).toEqual(['FAILED_PRECONDITION', 'driver cannot be changed']);
    expect(await refusal({ id: 99 })).toEqual(['RECORD_NOT_FOUND', 'failed get storage: record not found']);
  });

  it('tests what is saved, also when it is disabled, and as it would be changed', async () => {
    expect(await test({ id: 1 })).toMatchObject({ works: true, error: '' });
    expect(await test({ id: 2 })).toMatchObject({ works: true });
    expect(await test({ id: 3 })).toMatchObject({ works: false, error: 'addition is not a JSON object', traits: '{}', operations: [] });
    expect(await test({ id: 3, driver: 'Inner', addition: '{}' })).toMatchObject({ works: true });
  });

  it('leaves the mount and its status alone', async () => {
    await replica.fs.getEntry({ path: '/inner' }, installation.as());
    const before = inner.counts();
    inner.onOpen(() => Promise.reject(new Error('broken')));
    expect(await test({ id: 1 })).toMatchObject({ works: false, error: 'internal error' });
    inner.onOpen(async () => {});
    expect(inner.counts()).toEqual(before);
    await replica.fs.getEntry({ path: '/inner' }, installation.as());
    const { storages } = await replica.fs.listStorageHealth({}, installation.as());
    expect(storages.find(({ id }) => id === 1)).toMatchObject({ state: 'working', last_error: '' });
    expect(replica.reports.filter(({ id }) => id === 1)).toEqual([]);
  });

  it('keeps what a driver renews only of a storage that is tested as it is saved', async () => {
    const kept = () => replica.kept.splice(0);
    await replica.fs.getEntry({ path: '/renewing' }, installation.as());
    kept();
    opened.splice(0);
    expect(await test({ id: 5 })).toMatchObject({ works: true });
    expect(kept()).toEqual([{ id: 5, name: 'token', before: 'first+', after: 'first++' }]);
    await test({ id: 5, addition: '{ "token": "first++", "address": "a" }' });
    expect(kept()).toHaveLength(1);
    await test({ id: 5, addition: '{"address":"b","token":"first"}' });
    await test({ id: 5, addition: '{"address":"a","token":""}' });
    await test({ driver: 'Renewing', addition: '{"address":"a","token":"first"}' });
    await test({ id: 6 });
    expect(kept()).toEqual([]);
    expect(opened).toEqual([5, 5, 0, 0, 0, 0]);
  });

  it('shows a folder of this machine as it is', async () => {
    const folder = join(installation.dir, 'shown');
    await mkdir(folder);
    const addition = JSON.stringify({ root_folder_path: folder });
    expect(await test({ driver: 'Local', addition, write: true })).toMatchObject({ works: true, left_behind: [] });
    expect(await readdir(folder)).toEqual([]);
    const missing = JSON.stringify({ root_folder_path: join(folder, 'missing') });
    const answer = await test({ driver: 'Local', addition: missing });
    expect(answer).toMatchObject({ works: false, error: `root folder ${join(folder, 'missing')} not exists` });
    expect(answer.steps).toMatchObject([{ name: 'open', ok: false, error: answer.error }]);
  });
});
