import { AppError } from '@wharf/errors';
import type { RuleRecord } from '@wharf/models';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Actor, denied } from '../domain/access/permissions.ts';
import { createRuleBook } from '../domain/access/rule-book.ts';
import type { Operation } from '../domain/changing/operations/operation.ts';
import { placeEntries } from '../domain/changing/operations/place-entries.ts';
import type { Item } from '../domain/changing/operations/plan-placement.ts';
import { recursiveMove } from '../domain/changing/operations/recursive-move.ts';
import { locateIn } from '../domain/snapshot/snapshot.ts';
import { openLimited } from '../domain/testing/limited-storage.ts';
import { actor, vpath } from '../domain/testing/memory-tree.ts';
import { ruleRecord } from '../domain/testing/records.ts';
import { refusalOf } from '../domain/testing/refusal.ts';
import { createTestDriver } from '../domain/testing/test-drivers.ts';
import { DENIED, openStorages, without } from '../domain/testing/three-storages.ts';
import { decorated, operationsOf } from '../driver-contract/complete-driver.ts';
import { storageError } from '../driver-contract/storage-error.ts';
import { MemoryDriver } from '../drivers/memory/driver.ts';
import { placementKind } from './placement-kinds.ts';
import { flatteningTasks, placementTasks } from './placement-tasks.ts';
import { CREATOR, runPlacement, runRemoval } from './testing/place-now.ts';
import { createTestRun, type TestRun } from './testing/test-run.ts';

const KINDS = {
  async folder(operation: Operation) {
    const items: Item[] = [];
    const request = { src_dir: '/a', dst_dir: '/b', names: ['d'], overwrite: false, skip_existing: false };
    await placeEntries(operation, request, 'move', async (queued) => void items.push(...queued));
    return placementTasks('move', items, CREATOR);
  },
  async files(operation: Operation) {
    const items: Item[] = [];
    const request = { src_dir: '/a/d', dst_dir: '/b', conflict_policy: 'cancel' };
    await recursiveMove(operation, request, async (queued) => void items.push(...queued));
    return flatteningTasks(vpath('/a/d'), items, CREATOR);
  },
} as const;

/** Somebody who passes no rule, and what keeps an entry from changing. Then somebody who passes: but what a rule guards keeps its path. */
const COMERS: readonly (readonly [string, Partial<RuleRecord>, Actor])[] = [
  ['is for other writers', { write_users: [99], write_users_sub: true }, without('access_without_password')],
  ['has a password', { password: 'pw', p_sub: true }, without('access_without_password')],
  ['has a password that its user passes', { password: 'pw', p_sub: true }, actor()],
  ['is for this writer', { write_users: [7], write_users_sub: true }, actor()],
];

/** An attempt that is lost in the moment in which sources begin to be removed. */
function lostAtRemoval(run: TestRun): TestRun {
  return {
    ...run,
    begin(input) {
      const raw = run.begin(input);
      const saveCheckpoint: typeof raw.saveCheckpoint = async (text, ...rest) => {
        await raw.saveCheckpoint(text, ...rest);
        if (text.includes('"removing"')) run.lose();
      };
      return { ...raw, saveCheckpoint };
    },
  };
}

it.each((['folder', 'files'] as const).flatMap((kind) => COMERS.map((comer) => [kind, ...comer] as const)))(
  'C8: a move of a %s removes nothing of a place that since it was copied %s',
  async (kind, _what, rule, who) => {
    const memory = await openStorages();
    for (const name of ['f', 'g']) await memory.put(`/a/d/in/${name}`, name);
    const operation = memory.operation(who);
    const [task] = await KINDS[kind](operation);
    if (!task) throw new Error('no task');
    const run = createTestRun({ signal: operation.signal });
    expect((await refusalOf(runPlacement(operation, 'move', task.input, lostAtRemoval(run))))[0]).toBe('CANCELLED');
    const copied = kind === 'folder' ? ['/b/d/in/f', '/b/d/in/g'] : ['/b/f', '/b/g'];
    expect(await memory.everything('/')).toEqual(['/a/d/in/f', '/a/d/in/g', ...copied]);

    const records = kind === 'folder' ? [{ path: '/a/d/in' }] : [{ path: '/a/d/in/f' }, { path: '/a/d/in/g' }];
    const rules = createRuleBook(records.map((record, index) => ruleRecord({ _id: index + 1, ...record, ...rule })));
    const now = { ...operation, snapshot: { ...operation.snapshot, rules } };
    expect(await refusalOf(runPlacement(now, 'move', task.input, run))).toEqual(DENIED);
    expect(await memory.everything('/a')).toEqual(['/a/d/in/f', '/a/d/in/g']);
  },
);

it('C8: a task removes empty folders only while its user may remove, and below the base path of the moment', async () => {
  for (const later of [without('delete'), actor({ basePath: vpath('/b') })]) {
    const memory = await openStorages();
    for (const name of ['one', 'two', 'three']) await memory.makeFolder(`/a/d/${name}`);
    const [before, after] = [memory.operation(), memory.operation(later)];
    let asked = 0;
    const operationOf = async () => {
      asked += 1;
      return (await memory.everything('/a/d')).length === 3 ? before : after;
    };
    expect(await refusalOf(runRemoval(before, { emptyBelow: '/a/d' }, undefined, operationOf))).toEqual(DENIED);
    expect([(await memory.everything('/a/d')).length, asked > 1]).toEqual([2, true]);
  }
});

/** What a storage does for a task, in ways of which each asks at its own moment whether it still may. */
const WAITS = {
  // A long file is on its way for longer than rights are believed.
  'is read and written': (store) => {
    const write = store.write.bind(store);
    return {
      write: (file, content, options) => {
        vi.advanceTimersByTime(3_000);
        return write(file, content, options);
      },
      copy: undefined,
    };
  },
  'waits for its turn to be copied': (store) => ({
    copy: async (from, to, options) => {
      vi.advanceTimersByTime(3_000);
      await options.afterWaiting?.();
      return store.copy(from, to, options);
    },
  }),
  'waits for a folder to be made': (store) => ({
    makeDirectory: async (path, options) => {
      vi.advanceTimersByTime(3_000);
      await options?.afterWaiting?.();
      return store.makeDirectory(path, options);
    },
  }),
} satisfies Record<string, (store: MemoryDriver) => Partial<Parameters<typeof decorated>[0]>>;

it.each(Object.entries(WAITS))('what a task copies gets no name where its user is disabled while it %s (C8)', async (how, waits) => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = new MemoryDriver({});
  const memory = await openLimited(decorated({ ...operationsOf(store), rename: undefined, ...waits(store) }));
  await memory.put('/d/file');
  const [source, target] = how.includes('folder') ? ['/d', '/new'] : ['/d/file', '/copy'];
  const operation = memory.operation();
  const input = { source, target, sourceStorage: 1, targetStorage: 1, conflict: 'refuse' } as const;
  const startedAtMs = performance.now();
  const kind = placementKind('copy', async ({ signal }) => {
    if (performance.now() - startedAtMs >= 3_000) throw denied();
    return { ...operation, signal };
  });
  const run = createTestRun({ signal: operation.signal }).begin(kind.encodeInput(input));
  expect((await refusalOf(Promise.resolve(kind.run(run))))[0]).toEqual(DENIED[0]);
  expect(await memory.everything()).toEqual(['/d/file']);
});

it.each(Object.entries(WAITS).filter(([how]) => !how.includes('folder')))(
  'a file that a task is to replace stays where it is guarded while its copy %s (C8)',
  async (_how, waits) => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const store = new MemoryDriver({});
    const memory = await openLimited(decorated({ ...operationsOf(store), rename: undefined, ...waits(store) }));
    await memory.put('/d/file', 'new');
    await memory.put('/there', 'kept');
    const operation = memory.operation(without('access_without_password'));
    const guarded = createRuleBook([ruleRecord({ path: '/there', password: 'pw' })]);
    const input = { source: '/d/file', target: '/there', sourceStorage: 1, targetStorage: 1, conflict: 'replace' } as const;
    const startedAtMs = performance.now();
    const kind = placementKind('copy', async ({ signal }) => {
      const isLate = performance.now() - startedAtMs >= 3_000;
      return { ...operation, signal, ...(isLate && { snapshot: { ...operation.snapshot, rules: guarded } }) };
    });
    const run = createTestRun({ signal: operation.signal }).begin(kind.encodeInput(input));
    expect((await refusalOf(Promise.resolve(kind.run(run))))[0]).toEqual(DENIED[0]);
    expect(await memory.textOf('/there')).toBe('kept');
  },
);

/** A film, and the task that copies it to a storage whose writes a test has take long. */
async function openSlowCopy() {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const target = createTestDriver('Slow');
  const memory = await openStorages({
    drivers: [target.definition],
    storages: [{ mount_path: '/a' }, { mount_path: '/t', driver: 'Slow' }],
  });
  await memory.put('/a/file', 'a film');
  const operation = memory.operation();
  const input = { source: '/a/file', target: '/t/file', sourceStorage: 1, targetStorage: 2, conflict: 'refuse' } as const;
  return { target, memory, operation, input };
}

it('what a task has copied for long gets its name though the storage that it came from is away by then', async () => {
  const { target, memory, operation, input } = await openSlowCopy();
  let isAway = false;
  target.failWrites(() => {
    isAway = true;
    vi.advanceTimersByTime(3_000);
    return false;
  });
  const { mount } = locateIn(operation.snapshot, vpath('/a/file'), 1);
  const driver = await mount.driver();
  vi.spyOn(mount, 'driver').mockImplementation(async () => {
    if (isAway) throw storageError('STORAGE_UNAVAILABLE');
    return driver;
  });
  const kind = placementKind('copy', async ({ signal }) => ({ ...operation, signal }));
  await kind.run(createTestRun({ signal: operation.signal }).begin(kind.encodeInput(input)));
  expect(await memory.textOf('/t/file')).toBe('a film');
});

it('what a task has copied for long gets its name though our store was away in the moment before', async () => {
  const { target, memory, operation, input } = await openSlowCopy();
  let [isAway, writes] = [false, 0];
  target.failWrites(() => {
    isAway = true;
    writes += 1;
    vi.advanceTimersByTime(3_000);
    return false;
  });
  const kind = placementKind('copy', async ({ signal }) => {
    if (isAway) {
      isAway = false;
      throw new AppError('STORAGE_UNAVAILABLE', 'the store does not answer');
    }
    return { ...operation, signal };
  });
  await kind.run(createTestRun({ signal: operation.signal }).begin(kind.encodeInput(input)));
  expect([writes, await memory.textOf('/t/file')]).toEqual([1, 'a film']);
});

it('what a task moved stays where it was when its user is disabled while the contents are compared', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = new MemoryDriver({});
  const memory = await openLimited(
    decorated({
      ...operationsOf(store),
      stat: async (path, options) => {
        const entry = await store.stat(path, options);
        if (isRemoving) vi.advanceTimersByTime(3_000);
        return entry;
      },
    }),
  );
  let isRemoving = false;
  await memory.put('/d/file');
  await memory.makeFolder('/to');
  const operation = memory.operation();
  const input = { source: '/d/file', target: '/to/file', sourceStorage: 1, targetStorage: 1, conflict: 'refuse' } as const;
  const startedAtMs = performance.now();
  const kind = placementKind('move', async ({ signal }) => {
    if (performance.now() - startedAtMs >= 3_000) throw denied();
    return { ...operation, signal };
  });
  const testRun = createTestRun({ signal: operation.signal });
  const raw = testRun.begin(kind.encodeInput(input));
  const saveCheckpoint: typeof raw.saveCheckpoint = async (text, ...rest) => {
    if (text.includes('"removing"')) isRemoving = true;
    return raw.saveCheckpoint(text, ...rest);
  };
  expect(await refusalOf(Promise.resolve(kind.run({ ...raw, saveCheckpoint })))).toEqual(DENIED);
  expect(await memory.everything()).toEqual(['/d/file', '/to/file']);
});
