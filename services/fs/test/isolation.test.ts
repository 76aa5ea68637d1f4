import { AppError } from '@wharf/errors';
import { httpRequest, waitFor } from '@wharf/harness';
import type { ListEntriesResponse } from '@wharf/proto/fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytesOf, mpath } from '../src/domain/testing/memory-tree.ts';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { ADMIN, type Installation, openInstallation, type Replica, USER } from './installation.ts';

let installation: Installation;
let replica: Replica;
const driver = createTestDriver('Test');
const never = Promise.withResolvers<void>();
/** Storages that answer nothing, and those that fail. */
const hanging = new Set<string>();
const failing = new Set<string>();

beforeAll(async () => {
  installation = await openInstallation();
  for (const [index, store] of ['hangs', 'fails', 'works', 'shut'].entries()) {
    await driver.storeOf(store).write(mpath('/f'), bytesOf('text'), { overwrite: true });
    await installation.writeStorage({ _id: index + 1, mount_path: `/m/${store}`, driver: 'Test', addition: `{"store":"${store}"}` });
  }
  driver.onOpen(async (store) => {
    if (store === 'shut') throw new AppError('STORAGE_UNAVAILABLE', 'no such host');
  });
  driver.beforeCalls(async (store) => {
    if (hanging.has(store)) await never.promise;
    if (failing.has(store)) throw new AppError('STORAGE_UNAVAILABLE', 'gone away');
  });
  replica = await installation.open([driver.definition]);
});
afterAll(async () => {
  never.reject(new AppError('STORAGE_UNAVAILABLE', 'over'));
  await installation?.close();
});

async function names(path: string): Promise<string[]> {
  const messages: ListEntriesResponse[] = [];
  for await (const message of replica.fs.listEntries({ path }, installation.as())) messages.push(message);
  return messages.flatMap(({ entries }) => entries.map(({ name }) => name));
}
const health = async (id: number) => {
  const { storages } = await replica.fs.listStorageHealth({}, installation.as());
  return storages.find((each) => each.id === id) ?? expect.fail(`storage ${id} is unknown`);
};
const getFile = (store: string) => httpRequest(replica.url, { path: `/d/m/${store}/f?${installation.sign(`/m/${store}/f`)}` });

describe('a storage that hangs, fails or cannot be opened', () => {
  it('keeps neither the folder above it nor any other storage from answering', async () => {
    expect(await names('/m/works')).toEqual(['f']);
    hanging.add('hangs');
    failing.add('fails');
    const gone = new AbortController();
    const waiting = Array.from({ length: 40 }, () =>
      replica.fs.getEntry({ path: '/m/hangs/f' }, { ...installation.as(), signal: gone.signal }).catch(() => 'ended'),
    );
    await waitFor('the calls', async () => (await health(1)).state === 'working');
    for (let time = 0; time < 3; time += 1) {
      expect(await names('/m')).toEqual(['fails', 'hangs', 'shut', 'works']);
      expect(await names('/m/works')).toEqual(['f']);
      expect((await getFile('works')).text()).toBe('text');
      await expect(names('/m/fails')).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', message: expect.stringContaining('gone away') });
      await expect(names('/m/shut')).rejects.toMatchObject({ message: 'storage status: failed: storage not init' });
    }
    gone.abort();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['ended']));
    hanging.clear();
  });

  it('is shown to the admin as it is, and only to the admin', async () => {
    await waitFor('the breaker', async () => (await health(2)).breaker === 'open' || names('/m/fails').catch(() => false));
    expect(await health(2)).toMatchObject({
      mount_path: '/m/fails',
      driver: 'Test',
      state: 'unavailable',
      last_error: 'gone away',
      last_error_at: expect.stringMatching(/^\d{4}-/),
      retry_at: expect.stringMatching(/^\d{4}-/),
    });
    expect(await health(3)).toMatchObject({
      state: 'working',
      breaker: 'closed',
      last_error: '',
      last_error_at: '',
      retry_at: '',
      failures: 0,
    });
    expect(await health(4)).toMatchObject({ state: expect.stringMatching(/^(failed|opening)$/), last_error: 'no such host' });
    await expect(replica.fs.listStorageHealth({}, installation.as(USER))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(replica.fs.listStorageHealth({}, installation.as({ ...ADMIN, kind: 'user', role: 1 }))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    });
  });

  it('is refused at once, and works again by itself as soon as it answers', async () => {
    const refused = await getFile('fails');
    expect([refused.status, refused.text()]).toEqual([502, 'the storage is not available\n']);
    failing.clear();
    await waitFor('the storage to be back', async () => (await health(2)).state === 'working');
    expect(await names('/m/fails')).toEqual(['f']);
    driver.onOpen(async () => {});
    await waitFor('the storage to open', async () => (await health(4)).state === 'working');
    expect(await names('/m/shut')).toEqual(['f']);
    await waitFor('the reports', () => replica.reports.filter(({ status }) => status === 'work').length === 2);
    expect(replica.reports.filter(({ id }) => id === 2)).toEqual([
      { id: 2, status: 'gone away' },
      { id: 2, status: 'work' },
    ]);
    expect(replica.reports.filter(({ id }) => id === 4)).toEqual([
      { id: 4, status: 'no such host' },
      { id: 4, status: 'work' },
    ]);
  });

  it('is counted, by its id alone', async () => {
    const text = await replica.kit.metrics.metrics();
    expect(text).toMatch(/^wharf_storage_calls_total\{storage="2",outcome="failed"\} \d+$/m);
    expect(text).toMatch(/^wharf_storage_calls_total\{storage="3",outcome="ok"\} \d+$/m);
    expect(text).toMatch(/^wharf_storage_call_seconds_count\{storage="3"\} \d+$/m);
    expect(text).toMatch(/^wharf_storage_breaker\{storage="2"\} 0$/m);
    const revision = await installation.writeStorage({ _id: 2, mount_path: '/m/fails', driver: 'Test', disabled: true });
    await replica.fs.listStorageHealth({}, installation.as(ADMIN, { admin: revision }));
    expect(await replica.kit.metrics.metrics()).not.toContain('storage="2"');
  });
});
