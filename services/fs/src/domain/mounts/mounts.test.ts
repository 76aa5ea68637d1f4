import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from '@wharf/errors';
import type { StorageRecord } from '@wharf/models';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { boolItem, stringItem } from '../../driver-contract/config-items.ts';
import { defineDriver } from '../../driver-contract/define-driver.ts';
import { createDriverRegistry } from '../../driver-contract/driver-registry.ts';
import type { KeptItem } from '../../driver-contract/kept-item.ts';
import { NO_EGRESS } from '../../driver-contract/open-context.ts';
import type { Draft, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { MemoryDriver } from '../../drivers/memory/driver.ts';
import { mpath, textOf, vpath } from '../testing/memory-tree.ts';
import { storageRecord } from '../testing/records.ts';
import { refusalOf } from '../testing/refusal.ts';
import { createSchedule } from '../testing/schedule.ts';
import { createTestDriver, type TestDriver } from '../testing/test-drivers.ts';
import { createMounts, type Mounts } from './mounts.ts';

function setUp() {
  const driver = createTestDriver('Test');
  const other = createTestDriver('Other');
  const statuses: Array<[id: number, status: string]> = [];
  const errors: unknown[] = [];
  const kept: KeptItem[] = [];
  const keeping = defineDriver({
    name: 'Keeping',
    label: 'Keeping',
    configSchema: z.object({ address: stringItem(), token: stringItem({ kept: true, secret: true }), key: stringItem({ kept: true }) }),
    async open(_config, context) {
      kept.push(context.keptItem('token'));
      return Object.assign(new MemoryDriver(), { openDraft: async () => emptyDraft });
    },
  });
  const beforeStanding = { wait: async () => {} };
  const standing = defineDriver({
    name: 'Standing',
    label: 'Standing',
    limits: 'of others',
    configSchema: z.object({ path: stringItem(), other_names: boolItem() }),
    async open({ path, other_names }, { openMount }) {
      await beforeStanding.wait();
      return path === '' ? new MemoryDriver() : openMount(path, { keepsNames: !other_names });
    },
  });
  const changed: string[][] = [];
  const keepItem = { answer: async (_before: string, after: string) => after };
  let now = 1_000_000;
  const later = createSchedule(() => now);
  const metrics: string[] = [];
  const mounts = createMounts({
    after: later.after,
    metrics: {
      called: () => {},
      breakerChanged: (id, state) => metrics.push(`${id} ${state}`),
      forget: (id) => metrics.push(`${id} gone`),
    },
    registry: createDriverRegistry([driver.definition, other.definition, keeping, standing]),
    egress: NO_EGRESS,
    keepItem: (_id, _name, before, after) => keepItem.answer(before, after),
    clock: () => now,
    unseal(sealed) {
      if (sealed === 'broken') throw new AppError('CONTENT_CORRUPT', 'a stored secret cannot be read');
      return sealed;
    },
    onChange: (paths, isAnother) => changed.push([isAnother ? 'gone' : 'changed', ...paths]),
    onStatus: ({ _id }, status) => statuses.push([_id, status]),
    onError: (error) => errors.push(error),
  });
  const record = (rest: Partial<StorageRecord> = {}) => storageRecord({ driver: 'Test', ...rest });
  const mount = (...records: StorageRecord[]) => {
    const byId = mounts.apply(records);
    return (id: number) => byId.get(id) ?? expect.fail(`storage ${id} is not mounted`);
  };
  return {
    driver,
    other,
    kept,
    keepItem,
    beforeStanding,
    mounts,
    changed,
    statuses,
    errors,
    record,
    mount,
    metrics,
    advance: (ms: number) => (now += ms),
    runLater: later.run,
  };
}

/** How long a driver that was replaced stays open without being used. */
const QUIET_MS = 10_000;

/** What was begun without being waited for has gone as far as it can. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

async function* content(...pieces: string[]): AsyncGenerator<Uint8Array, void> {
  for (const piece of pieces) yield Buffer.from(piece);
}

const emptyDraft: Draft = {
  partBytes: 1,
  write: async () => 0,
  sync: async () => {},
  sizeBytes: async () => 0,
  read: () => content(),
  publish: () => Promise.reject(new Error('nothing to publish')),
  discard: async () => {},
  close: async () => {},
};

const failing = (message: string) => async () => {
  throw new AppError('STORAGE_UNAVAILABLE', message);
};

describe('an item that a driver keeps', () => {
  const addition = (address: string, token: string) => JSON.stringify({ address, token });

  it('changes without the storage being opened anew, and is told as it is stored', async () => {
    const { mount, record, kept, keepItem } = setUp();
    const keeping = record({ driver: 'Keeping', addition: addition('a', 'first') });
    const opened = await mount(keeping)(1).driver();
    expect(kept.map((item) => item.value)).toEqual(['first']);
    expect(await kept[0]?.replace('first', 'second')).toBe('second');
    expect(kept[0]?.value).toBe('second');
    keepItem.answer = async () => 'of another replica';
    expect(await kept[0]?.replace('second', 'third')).toBe('of another replica');
    expect(kept[0]?.value).toBe('of another replica');
    expect(await mount({ ...keeping, addition: addition('a', 'fourth') })(1).driver()).toBe(opened);
    expect(kept[0]?.value).toBe('fourth');
    expect(await mount({ ...keeping, addition: addition('b', 'fourth') })(1).driver()).not.toBe(opened);
    expect(kept).toHaveLength(2);
  });

  it('is seen by the storage where an admin changed it, and no secret of the driver is', async () => {
    const { mount, record, kept } = setUp();
    const stored = (key: string) => record({ driver: 'Keeping', addition: JSON.stringify({ address: 'a', token: '', key }) });
    const opened = await mount(stored(''))(1).driver();
    expect(await mount(stored('pinned by another replica'))(1).driver()).toBe(opened);
    expect(await mount(stored('of an admin'))(1).driver()).not.toBe(opened);
    expect(kept).toHaveLength(2);
  });
});

describe('opening', () => {
  it('waits for the first use, happens once, and reports nothing that is known', async () => {
    const { driver, mount, record, statuses } = setUp();
    const one = mount(record())(1);
    expect(driver.counts().opened).toBe(0);
    const [first, second] = await Promise.all([one.driver(), one.driver()]);
    expect(first).toBe(second);
    expect(driver.counts().opened).toBe(1);
    expect(statuses).toEqual([]);
  });

  it('reports the status when it is another than the stored one', async () => {
    const { driver, mount, record, statuses } = setUp();
    await mount(record({ status: '' }))(1).driver();
    driver.onOpen(failing('no such host'));
    await refusalOf(mount(record({ addition: '{"store":"b"}' }))(1).driver());
    expect(statuses).toEqual([
      [1, 'work'],
      [1, 'no such host'],
    ]);
  });

  it('of one storage neither waits for another nor fails with it', async () => {
    const { driver, mount, record } = setUp();
    const { promise, resolve } = Promise.withResolvers<void>();
    driver.onOpen((store) => (store === 'slow' ? promise : store === 'bad' ? failing('bad')() : Promise.resolve()));
    const at = mount(
      record({ _id: 1, addition: '{"store":"slow"}' }),
      record({ _id: 2, addition: '{"store":"bad"}' }),
      record({ _id: 3 }),
      record({ _id: 4, addition: 'broken' }),
      record({ _id: 5, addition: 'no json' }),
    );
    const slow = at(1).driver();
    await at(3).driver();
    expect(await refusalOf(at(2).driver())).toEqual(['STORAGE_UNAVAILABLE', 'storage status: failed: storage not init']);
    expect(await refusalOf(at(4).driver())).toEqual(['STORAGE_UNAVAILABLE', 'storage status: failed: storage not init']);
    expect(await refusalOf(at(5).driver())).toEqual(['STORAGE_UNAVAILABLE', 'storage status: failed: storage not init']);
    resolve();
    await slow;
  });

  it('tells nothing of an error that nobody foresaw', async () => {
    const { driver, mount, record, errors } = setUp();
    const error = new Error('password=secret');
    driver.onOpen(async () => {
      throw error;
    });
    expect(await refusalOf(mount(record())(1).driver())).toEqual(['STORAGE_UNAVAILABLE', 'storage status: failed: storage not init']);
    expect(errors).toEqual([error]);
  });

  it('of all goes on when some fail', async () => {
    const { driver, mounts, mount, record } = setUp();
    driver.onOpen((store) => (store === 'bad' ? failing('bad')() : Promise.resolve()));
    mount(record({ _id: 1, addition: '{"store":"bad"}' }), record({ _id: 2 }));
    await mounts.openAll();
    expect(driver.counts().opened).toBe(1);
  });
});

describe('a storage that failed', () => {
  it('is tried again when it is asked for, after 2 s, then 4 s, at most a minute', async () => {
    const { driver, mount, record, advance } = setUp();
    let tries = 0;
    driver.onOpen(async () => {
      tries += 1;
      await failing('down')();
    });
    const one = mount(record())(1);
    const triesAfter = async (ms: number) => {
      advance(ms);
      await refusalOf(one.driver());
      return tries;
    };
    expect(await triesAfter(0)).toBe(1);
    expect(await triesAfter(1_999)).toBe(1);
    expect(await triesAfter(1)).toBe(2);
    expect(await triesAfter(3_999)).toBe(2);
    expect(await triesAfter(1)).toBe(3);
    for (const ms of [8_000, 16_000, 32_000, 60_000]) await triesAfter(ms);
    expect(tries).toBe(7);
    expect(await triesAfter(59_999)).toBe(7);
    expect(await triesAfter(1)).toBe(8);
  });

  it('works as soon as it opens, and says so', async () => {
    const { driver, mount, record, advance, statuses } = setUp();
    const one = mount(record({ status: 'down' }))(1);
    driver.onOpen(failing('down'));
    await refusalOf(one.driver());
    driver.onOpen(async () => {});
    advance(2_000);
    await one.driver();
    expect(statuses).toEqual([[1, 'work']]);
  });
});

describe('a storage that could not be opened', () => {
  it('is tried again though nobody asks for it, and reported once it works', async () => {
    const { driver, mount, mounts, record, statuses, advance, runLater } = setUp();
    mount(record());
    driver.onOpen(failing('down'));
    await mounts.openAll();
    expect(mounts.health()).toMatchObject([{ state: 'failed', breaker: 'closed', failures: 1, lastFailure: { message: 'down' } }]);
    expect(mounts.health()[0]?.retryAt?.getTime()).toBe(1_002_000);
    driver.onOpen(async () => {});
    advance(1_999);
    expect(runLater()).toBe(0);
    advance(1);
    expect(runLater()).toBe(1);
    await expect
      .poll(() => statuses)
      .toEqual([
        [1, 'down'],
        [1, 'work'],
      ]);
    expect(mounts.health()).toMatchObject([{ state: 'working', retryAt: undefined }]);
  });

  it('is tried again at once where it was saved again, which another replica was asked for', async () => {
    const { driver, mount, record } = setUp();
    driver.onOpen(failing('down'));
    await refusalOf(mount(record())(1).driver());
    driver.onOpen(async () => {});
    await refusalOf(mount(record())(1).driver());
    const saved = mount(record({ modified: new Date('2024-05-02T00:00:00Z') }))(1);
    expect(await saved.driver()).toBeDefined();
    expect(driver.counts()).toMatchObject({ closed: 0 });
  });

  it('by settings that cannot be is not tried again, nor is one that is gone', async () => {
    const { driver, mount, mounts, record, advance, runLater } = setUp();
    mount(record({ _id: 1, addition: 'no json' }), record({ _id: 2 }));
    driver.onOpen(failing('down'));
    await mounts.openAll();
    mounts.apply([record({ _id: 1, addition: 'no json' })]);
    advance(100_000);
    expect(runLater()).toBe(0);
  });
});

describe('a call that came through gateways in a circle, or says so', () => {
  const way = new AsyncLocalStorage<string>();
  const inCircle = (run: () => unknown) => way.run('circle', run);
  const refuseCircles = async () => {
    if (way.getStore() !== undefined) throw new AppError('CIRCULAR_MOUNT', 'in a circle');
  };

  it('is refused alone: the storage opens for those who wait, and those who come', async () => {
    const { driver, mount, record, statuses } = setUp();
    const at = mount(record());
    driver.onOpen(refuseCircles);
    const circular = inCircle(() => at(1).driver());
    const joined = at(1).driver();
    await expect(circular).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    await expect(joined).resolves.toBeDefined();
    await expect(at(1).driver()).resolves.toBe(await joined);
    expect(statuses).not.toContainEqual([1, 'in a circle']);
  });

  it('is not what a storage that failed is tried again by', async () => {
    const { driver, mount, record, advance, runLater, mounts, statuses } = setUp();
    const at = mount(record());
    driver.onOpen(failing('down'));
    await inCircle(() => expect(at(1).driver()).rejects.toThrow());
    driver.onOpen(refuseCircles);
    advance(2_000);
    // What a timer runs comes by the way of whoever set it.
    inCircle(runLater);
    await expect.poll(() => mounts.health()[0]?.state).toBe('working');
    expect(statuses).toEqual([
      [1, 'down'],
      [1, 'work'],
    ]);
  });
});

describe('a storage that goes away', () => {
  const root = mpath('/');
  const away = async () => {
    throw new AppError('STORAGE_UNAVAILABLE', 'gone away');
  };

  it('is asked again where many calls failed together', async () => {
    const { driver, mount, mounts, record } = setUp();
    const one = await mount(record())(1).driver();
    let gate = Promise.withResolvers<void>();
    driver.beforeCalls(async () => {
      await gate.promise;
      throw new AppError('DEADLINE_EXCEEDED', 'too slow');
    });
    for (let round = 1; round <= 3; round += 1) {
      expect(mounts.health()[0]?.breaker).toBe('closed');
      const together = Array.from({ length: 5 }, () => refusalOf(one.stat(root)));
      gate.resolve();
      await Promise.all(together);
      gate = Promise.withResolvers<void>();
    }
    // The look may come after all of them.
    gate.resolve();
    await expect.poll(() => mounts.health()).toMatchObject([{ breaker: 'open', failures: 15 }]);
  });

  it('is refused at once where it fails itself after three failures in a row, looked at after 1 s, 2 s, 4 s, and back when it answers', async () => {
    const { driver, mount, mounts, record, statuses, metrics, advance, runLater } = setUp();
    let calls = 0;
    const one = await mount(record())(1).driver();
    driver.beforeCalls(async () => {
      calls += 1;
      await away();
    });
    for (let time = 0; time < 3; time += 1) expect(await refusalOf(one.stat(root))).toEqual(['STORAGE_UNAVAILABLE', 'gone away']);
    await expect.poll(() => mounts.health()[0]?.breaker).toBe('open');
    // Each was tried three times, and so was the look.
    expect(calls).toBe(12);
    expect(await refusalOf(one.stat(root))).toEqual(['STORAGE_UNAVAILABLE', 'the storage is not available']);
    expect(await refusalOf(Array.fromAsync(one.list(root)))).toEqual(['STORAGE_UNAVAILABLE', 'the storage is not available']);
    expect(calls).toBe(12);
    expect(mounts.health()).toMatchObject([{ state: 'unavailable', breaker: 'open', failures: 3, lastFailure: { message: 'gone away' } }]);
    expect(statuses).toEqual([[1, 'gone away']]);

    for (const pauseMs of [1_000, 2_000, 4_000]) {
      advance(pauseMs - 1);
      expect(runLater()).toBe(0);
      advance(1);
      expect(runLater()).toBe(1);
      expect(mounts.health()[0]?.breaker).toBe('half-open');
      expect((await refusalOf(one.stat(root)))[0]).toBe('STORAGE_UNAVAILABLE');
      await expect.poll(() => mounts.health()[0]?.breaker).toBe('open');
    }
    driver.beforeCalls(async () => {});
    advance(8_000);
    expect(runLater()).toBe(1);
    await expect.poll(() => mounts.health()[0]).toMatchObject({ state: 'working', breaker: 'closed' });
    expect((await one.stat(root)).isDirectory).toBe(true);
    expect(statuses).toEqual([
      [1, 'gone away'],
      [1, 'work'],
    ]);
    expect(metrics.filter((each) => each.endsWith('open')).length).toBe(8);
    mounts.apply([]);
    expect(metrics.at(-1)).toBe('1 gone');
    advance(100_000);
    expect(runLater()).toBe(0);
  });

  it.each(['opened anew', 'saved'] as const)('is told as there again when it was %s meanwhile', async (how) => {
    const { driver, mount, mounts, record, metrics } = setUp();
    const one = await mount(record())(1).driver();
    driver.beforeCalls(away);
    for (let time = 0; time < 3; time += 1) await refusalOf(one.stat(root));
    await expect.poll(() => metrics.at(-1)).toBe('1 open');
    driver.beforeCalls(async () => {});
    if (how === 'saved') mount(record({ addition: '{"store":"another"}' }));
    else expect(await mounts.reopen(1)).toBe('work');
    expect(metrics.at(-1)).toBe('1 closed');
  });

  it('is not one of which a part is away, whoever asks for that', async () => {
    const { driver, mount, mounts, record, metrics } = setUp();
    const one = await mount(record())(1).driver();
    const part = vi.spyOn(driver.storeOf(), 'makeDirectory').mockImplementation(away);
    for (let time = 0; time < 10; time += 1) {
      expect(await refusalOf(one.makeDirectory?.(mpath('/part/new')) ?? Promise.resolve())).toEqual(['STORAGE_UNAVAILABLE', 'gone away']);
      await settled();
    }
    expect(mounts.health()).toMatchObject([{ state: 'working', breaker: 'closed', failures: 10 }]);
    expect(metrics).toEqual([]);
    part.mockRestore();
    expect(await one.makeDirectory?.(mpath('/part/new'))).toMatchObject({ isDirectory: true });
  });

  it('is not the one that stands on it: that is refused nothing by itself', async () => {
    const { driver, mount, mounts, record, statuses } = setUp();
    const at = mount(
      record({ _id: 1, mount_path: '/base' }),
      record({ _id: 2, mount_path: '/on', driver: 'Standing', addition: '{"path":"/base"}' }),
    );
    const [base, on] = [await at(1).driver(), await at(2).driver()];
    driver.beforeCalls(away);
    for (let time = 0; time < 10; time += 1) {
      expect((await refusalOf(on.stat(root)))[0]).toBe('STORAGE_UNAVAILABLE');
      await settled();
    }
    await expect.poll(() => mounts.health()).toMatchObject([{ breaker: 'open' }, { state: 'working', breaker: 'closed' }]);
    expect((await refusalOf(base.stat(root)))[0]).toBe('STORAGE_UNAVAILABLE');
    expect(statuses).toEqual([[1, 'gone away']]);
  });

  it('is not one whose folder somebody renamed below a storage that stands on another: what stood there is missing, unless the other is away', async () => {
    const { driver, mount, record } = setUp();
    await driver.storeOf().makeDirectory(mpath('/d'));
    const stands = (_id: number, mount_path: string, path: string) =>
      record({ _id, mount_path, driver: 'Standing', addition: JSON.stringify({ path }) });
    const at = mount(record({ _id: 1, mount_path: '/base' }), stands(2, '/middle', '/base/d'), stands(3, '/outer', '/middle'));
    const outer = await at(3).driver();
    const removal = () => refusalOf(outer.remove?.(mpath('/none'), { recursive: true }) ?? Promise.resolve());
    expect((await removal())[0]).toBe('ENTRY_NOT_FOUND');
    await driver.storeOf().rename(mpath('/d'), mpath('/e'), { overwrite: false });
    expect((await refusalOf(outer.stat(root)))[0]).toBe('ENTRY_NOT_FOUND');
    expect((await removal())[0]).toBe('ENTRY_NOT_FOUND');
    driver.beforeCalls(async () => {
      throw new AppError('ENTRY_NOT_FOUND', 'its disk is not mounted');
    });
    expect((await refusalOf(outer.stat(root)))[0]).toBe('STORAGE_UNAVAILABLE');
    expect((await removal())[0]).toBe('STORAGE_UNAVAILABLE');
  });

  it('is not what does not have a file, or what a caller gave up', async () => {
    const { mount, mounts, record } = setUp();
    const one = await mount(record())(1).driver();
    const gone = AbortSignal.abort();
    for (let time = 0; time < 5; time += 1) {
      expect((await refusalOf(one.stat(mpath('/none'))))[0]).toBe('ENTRY_NOT_FOUND');
      expect((await refusalOf(one.stat(root, { signal: gone })))[0]).toBe('CANCELLED');
    }
    expect(mounts.health()).toMatchObject([{ state: 'working', breaker: 'closed', failures: 0, calls: 5 }]);
  });

  it('is not the one that takes what another cannot give', async () => {
    const { mount, mounts, record } = setUp();
    const one = await mount(record())(1).driver();
    const broken = async function* () {
      yield Buffer.from('x');
      await away();
    };
    for (let time = 0; time < 4; time += 1)
      expect((await refusalOf(one.write?.(mpath('/f'), broken(), { overwrite: true }) ?? Promise.resolve()))[1]).toBe('gone away');
    expect(mounts.health()).toMatchObject([{ breaker: 'closed', failures: 0 }]);
  });

  it('keeps none of the others from answering, while it hangs or when it fails', async () => {
    const { driver, mount, record } = setUp();
    const at = mount(record({ _id: 1, addition: '{"store":"hangs"}' }), record({ _id: 2 }));
    const [hangs, works] = await Promise.all([at(1).driver(), at(2).driver()]);
    const never = Promise.withResolvers<void>();
    driver.beforeCalls((store) => (store === 'hangs' ? never.promise : Promise.resolve()));
    const waiting = Array.from({ length: 50 }, () => hangs.stat(root));
    expect((await works.stat(root)).isDirectory).toBe(true);
    never.reject(new AppError('STORAGE_UNAVAILABLE', 'gone away'));
    expect(new Set((await Promise.allSettled(waiting)).map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect((await works.stat(root)).isDirectory).toBe(true);
  });
});

describe('another configuration', () => {
  it('leaves open what did not change, whatever its record says otherwise', async () => {
    const { driver, mount, record } = setUp();
    const before = await mount(record())(1).driver();
    const after = mount(record({ remark: 'new', order: 5 }))(1);
    expect(await after.driver()).toBe(before);
    expect(after.storage.remark).toBe('new');
    expect(driver.counts()).toEqual({ opened: 1, closed: 0 });
  });

  it('does not change the record of a request that runs', () => {
    const { mount, record } = setUp();
    const running = mount(record({ order_by: 'name' }))(1);
    mount(record({ order_by: 'size' }));
    expect(running.storage.order_by).toBe('name');
  });

  it.each<[string, Partial<StorageRecord>[]]>([
    ['has another addition', [{ addition: '{"store":"b"}' }]],
    ['is of another driver', [{ driver: 'Other' }]],
    ['is disabled', [{ disabled: true }]],
    ['is gone', []],
  ])('closes a storage that %s', async (_what, records) => {
    const { driver, mount, mounts, record, advance, runLater } = setUp();
    const old = mount(record())(1);
    await old.driver();
    mounts.apply(records.map((rest) => record(rest)));
    await settled();
    advance(QUIET_MS);
    runLater();
    await expect.poll(() => driver.counts().closed).toBe(1);
    expect(await refusalOf(old.driver())).toEqual(['STORAGE_UNAVAILABLE', 'storage status: failed: storage not init']);
    expect(driver.counts().opened).toBe(1);
  });

  it('leaves open a storage whose addition says the same in other words', async () => {
    const { driver, mount, mounts, record } = setUp();
    const before = await mount(record({ addition: '{ "store": "a", "gone": 1 }' }))(1).driver();
    expect(await mount(record({ addition: mounts.normalisedAddition(1) ?? '' }))(1).driver()).toBe(before);
    expect(driver.counts()).toEqual({ opened: 1, closed: 0 });
  });

  it('ends at once what runs on a storage that is taken away', async () => {
    const { driver, mounts, mount, record } = setUp();
    const old = await mount(record())(1).driver();
    await old.list(mpath('/'))[Symbol.asyncIterator]().next();
    await mounts.reopen(1);
    mounts.apply([record({ disabled: true })]);
    await expect.poll(() => driver.counts()).toEqual({ opened: 2, closed: 2 });
  });

  it('closes a storage that was still being opened', async () => {
    const { driver, mounts, mount, record, statuses } = setUp();
    const { promise, resolve } = Promise.withResolvers<void>();
    driver.onOpen(() => promise);
    const opening = refusalOf(mount(record({ status: '' }))(1).driver());
    mounts.apply([]);
    resolve();
    expect((await opening)[0]).toBe('STORAGE_UNAVAILABLE');
    expect(driver.counts()).toEqual({ opened: 1, closed: 1 });
    expect(statuses).toEqual([]);
  });
});

it('a storage that was taken away while it was opened stands on nothing, and may be stood on when it is back', async () => {
  const { beforeStanding, mounts, mount, record } = setUp();
  const stands = (_id: number, name: string, path: string) =>
    record({ _id, mount_path: name, driver: 'Standing', addition: JSON.stringify({ path }) });
  const { promise, resolve } = Promise.withResolvers<void>();
  beforeStanding.wait = () => promise;
  const opening = refusalOf(mount(stands(1, '/a', '/b'), record({ _id: 2, mount_path: '/b' }))(1).driver());
  mounts.apply([record({ _id: 2, mount_path: '/b' })]);
  resolve();
  expect((await opening)[0]).toBe('STORAGE_UNAVAILABLE');
  expect(mounts.shownAt([vpath('/b/file')])).toEqual([]);
  const back = mount(stands(1, '/a', ''), stands(2, '/b', '/a'));
  expect(await back(2).driver()).toBeDefined();
});

describe('a storage that stands on another one', () => {
  const stand = async () => {
    const { changed, driver, mounts, mount, record } = setUp();
    const stands = (_id: number, mount_path: string, rest: object) =>
      record({ _id, mount_path, driver: 'Standing', addition: JSON.stringify(rest) });
    const byId = mount(
      record({ _id: 1, mount_path: '/base' }),
      stands(2, '/names', { path: '/base/d' }),
      stands(3, '/other', { path: '/base/d', other_names: true }),
    );
    const [, names] = [await byId(3).driver(), await byId(2).driver()];
    return { changed, driver, mounts, names: names as Required<StorageDriver> };
  };

  it('shows a change of what is in it where that is, and with other names anywhere', async () => {
    const { mounts } = await stand();
    expect([...mounts.shownAt([vpath('/base/d/a/b')])].sort()).toEqual(['/names/a/b', '/other']);
    expect(mounts.shownAt([vpath('/base/d/a/b')], true)).toEqual(['/names/a/b']);
    for (const path of ['/base/d', '/base']) expect([...mounts.shownAt([vpath(path)], true)].sort()).toEqual(['/names', '/other']);
  });

  it('tells below what went away through it', async () => {
    const { changed, names } = await stand();
    await names.write(mpath('/f'), content('text'), { overwrite: true });
    await names.rename(mpath('/f'), mpath('/g'), { overwrite: false });
    await names.rename(mpath('/f'), mpath('/g'), { overwrite: false }).catch(() => undefined);
    await names.remove(mpath('/g'), { recursive: false });
    expect(changed).toEqual([
      ['changed', '/base/d/f'],
      ['gone', '/base/d/f', '/base/d/g'],
      ['changed', '/base/d/f', '/base/d/g'],
      ['gone', '/base/d/g'],
    ]);
  });
});

describe('opening again', () => {
  it('gives those that come the new driver, and closes the old one when nobody used it for a while', async () => {
    const { driver, mounts, mount, record, advance, runLater } = setUp();
    const one = mount(record())(1);
    const old = await one.driver();
    expect(await mounts.reopen(1)).toBe('work');
    const renewed = await one.driver();
    expect(renewed).not.toBe(old);
    await settled();
    advance(QUIET_MS - 1);
    runLater();
    expect(driver.counts()).toEqual({ opened: 2, closed: 0 });
    await old.stat(mpath('/'));
    advance(QUIET_MS - 1);
    expect(runLater()).toBe(0);
    advance(1);
    expect(runLater()).toBe(1);
    expect(driver.counts()).toEqual({ opened: 2, closed: 1 });
    await driver.storeOf().write(mpath('/f'), (async function* () {})(), { overwrite: true });
    expect(await textOf(await renewed.read(mpath('/f')))).toBe('');
  });

  it('opens what nobody asked for once', async () => {
    const { driver, mounts, mount, record } = setUp();
    mount(record());
    expect(await mounts.reopen(1)).toBe('work');
    expect(driver.counts()).toEqual({ opened: 1, closed: 0 });
  });

  it('does not wait for the pause after a failure, and answers why it failed', async () => {
    const { driver, mounts, mount, record } = setUp();
    const one = mount(record())(1);
    driver.onOpen(failing('down'));
    await refusalOf(one.driver());
    expect(await mounts.reopen(1)).toBe('down');
    driver.onOpen(async () => {});
    expect(await mounts.reopen(1)).toBe('work');
    await one.driver();
  });

  const file = mpath('/f');
  const fill = async ({ storeOf }: TestDriver, addition?: string) =>
    void (await storeOf(addition).write(file, content('a', 'b'), { overwrite: true }));
  const anew: [how: string, run: (mounts: Mounts, record: StorageRecord) => unknown][] = [
    ['by an admin', (mounts) => mounts.reopen(1)],
    ['with another addition', (mounts, record) => mounts.apply([{ ...record, addition: '{"store":"other"}' }])],
  ];
  it.each(anew)('%s has what gets a name on the new driver wait for a removal that is under way on the old one', async (_how, openAnew) => {
    const { driver, mounts, mount, record } = setUp();
    await fill(driver);
    const old = (await mount(record())(1).driver()) as Required<StorageDriver>;
    const look = await old.stat(file);
    const gate = Promise.withResolvers<void>();
    driver.beforeCalls(() => gate.promise);
    const order: string[] = [];
    const removed = old.remove(file, { recursive: false, onlyIf: look }).then(() => order.push('removed'));
    driver.beforeCalls(async () => {});
    await openAnew(mounts, record());
    const renewed = (await mounts.all()[0]?.driver()) as Required<StorageDriver>;
    expect(renewed).not.toBe(old);
    const written = renewed.write(file, content('new'), { overwrite: true, sizeBytes: 3 }).then(() => order.push('written'));
    for (let turn = 0; turn < 20; turn += 1) await settled();
    gate.resolve();
    await Promise.all([removed, written]);
    expect(order).toEqual(['removed', 'written']);
  });

  it.each(anew)('%s ends no call, listing or file that is in use', async (_how, openAnew) => {
    const { driver, mounts, mount, record, advance, runLater } = setUp();
    await fill(driver);
    const one = await mount(record())(1).driver();
    const gate = Promise.withResolvers<void>();
    const isAsked = Promise.withResolvers<void>();
    const reader = (await one.read(file))[Symbol.asyncIterator]();
    const listing = one.list(mpath('/'))[Symbol.asyncIterator]();
    await Promise.all([reader.next(), listing.next()]);
    driver.beforeCalls(() => {
      isAsked.resolve();
      return gate.promise;
    });
    const call = one.stat(file);
    await isAsked.promise;
    await openAnew(mounts, record());
    await settled();
    const isKeptFor = async (ms: number) => {
      advance(ms);
      runLater();
      await settled();
      return driver.counts().closed === 0;
    };
    expect(await isKeptFor(60_000)).toBe(true);
    gate.resolve();
    expect((await call).name).toBe('f');
    expect(await isKeptFor(60_000)).toBe(true);
    expect((await listing.next()).done).toBe(true);
    expect(await isKeptFor(60_000)).toBe(true);
    await reader.return?.();
    expect(await isKeptFor(QUIET_MS - 1)).toBe(true);
    expect(await isKeptFor(1)).toBe(false);
  });

  it('ends no draft that is open', async () => {
    const { mounts, mount, record, advance, runLater } = setUp();
    const old = await mount(record({ driver: 'Keeping', addition: '{"address":"a","token":""}' }))(1).driver();
    const draft = await old.openDraft?.(file, 'a'.repeat(32), { create: true });
    await mounts.reopen(1);
    await settled();
    advance(60_000);
    expect(runLater()).toBe(0);
    expect(await draft?.sizeBytes()).toBe(0);
    await draft?.close();
    advance(QUIET_MS);
    expect(runLater()).toBe(1);
    expect((await refusalOf(old.stat(mpath('/'))))[0]).toBe('STORAGE_UNAVAILABLE');
  });

  it('goes on for requests that found the storage before and have not begun', async () => {
    const { driver, mount, record } = setUp();
    await fill(driver);
    const before = mount(record())(1);
    await before.driver();
    mount(record({ addition: '{"store":"other"}' }));
    expect((await (await before.driver()).stat(file)).name).toBe('f');
  });

  it('gives the new driver to those who wait for the old one', async () => {
    const { driver, mounts, mount, record } = setUp();
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let opening = 0;
    driver.onOpen(() => gates[opening++]?.promise ?? Promise.resolve());
    const one = mount(record())(1);
    const waiting = one.driver();
    const renewed = mounts.reopen(1);
    for (const gate of gates) gate.resolve();
    expect(await renewed).toBe('work');
    expect(await waiting).toBe(await one.driver());
  });

  it('while the first opening runs closes that one and keeps its own', async () => {
    const { driver, mounts, mount, record } = setUp();
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let opening = 0;
    driver.onOpen(() => gates[opening++]?.promise ?? Promise.resolve());
    const one = mount(record())(1);
    const first = one.driver();
    const second = mounts.reopen(1);
    gates[1]?.resolve();
    expect(await second).toBe('work');
    const driverOfSecond = await one.driver();
    gates[0]?.resolve();
    expect(await first).toBe(driverOfSecond);
    expect(await one.driver()).toBe(driverOfSecond);
    expect(driver.counts()).toEqual({ opened: 2, closed: 1 });
  });

  it('says why there is nothing to open', async () => {
    const { mounts, mount, record } = setUp();
    mount(record({ _id: 1, disabled: true }), record({ _id: 2, driver: 'Nobody' }));
    expect(await Promise.all([1, 2, 3].map((id) => mounts.reopen(id)))).toEqual(['disabled', 'no driver named: Nobody', '']);
  });
});

it('a storage that can be mounted nowhere is alone in that, and its status says why', async () => {
  const { mounts, statuses, errors, record } = setUp();
  const byId = mounts.apply([
    record({ _id: 1 }),
    record({ _id: 2, mount_path: '/a/...balance' }),
    record({ _id: 3, mount_path: '/...balance', disabled: true }),
  ]);
  const why = 'it cannot be mounted: using relative path is not allowed';
  expect([[...byId.keys()], statuses, errors]).toEqual([[1], [[2, why]], [expect.objectContaining({ code: 'UNSAFE_PATH' })]]);
  expect(await Promise.all([1, 2, 3].map((id) => mounts.reopen(id)))).toEqual(['work', why, 'disabled']);
});

it('an addition is shown as its driver keeps it, and not when it cannot be read', () => {
  const { mounts, mount, record } = setUp();
  mount(record({ _id: 1, addition: '{"store":5,"more":1}' }), record({ _id: 2, addition: 'broken' }), record({ _id: 3, addition: '[]' }));
  expect([1, 2, 3, 4].map((id) => mounts.normalisedAddition(id))).toEqual(['{"store":"5"}', undefined, undefined, undefined]);
});

it('closing closes everything, and nothing is mounted afterwards', async () => {
  const { driver, mounts, mount, record } = setUp();
  const at = mount(record({ _id: 1 }), record({ _id: 2 }));
  await Promise.all([at(1).driver(), at(2).driver()]);
  await mounts.close();
  await mounts.close();
  expect(driver.counts()).toEqual({ opened: 2, closed: 2 });
  expect(mounts.apply([record()]).size).toBe(0);
  expect((await refusalOf(at(1).driver()))[0]).toBe('STORAGE_UNAVAILABLE');
});
