import { AppError } from '@wharf/errors';
import type { RuleRecord } from '@wharf/models';
import { postponedMs, SHORT_TASK_BYTES } from '@wharf/task-engine';
import { describe, expect, it } from 'vitest';
import { removeEmptyDirectories } from '../domain/changing/operations/remove-empty-directories.ts';
import { type Begun, removeEntries } from '../domain/changing/operations/remove-entries.ts';
import { locate } from '../domain/snapshot/snapshot.ts';
import { actor, type MemoryTree, openTree, vpath } from '../domain/testing/memory-tree.ts';
import { refusalOf } from '../domain/testing/refusal.ts';
import { DENIED } from '../domain/testing/three-storages.ts';
import { decorated, operationsOf } from '../driver-contract/complete-driver.ts';
import type { DriverDefinition } from '../driver-contract/define-driver.ts';
import type { StorageDriver } from '../driver-contract/storage-driver.ts';
import { aliasDriver } from '../drivers/alias/index.ts';
import { MemoryDriver } from '../drivers/memory/driver.ts';
import { memoryDriver } from '../drivers/memory/index.ts';
import { removalTasks } from './placement-tasks.ts';
import type { RemovalInput } from './removal-kind.ts';
import { CREATOR, runRemoval } from './testing/place-now.ts';
import { createTestRun } from './testing/test-run.ts';

const OBJECTS = { mount_path: '/o', driver: 'Memory', addition: '{"profile":"object store"}' };
const openObjects = (options: Parameters<typeof openTree>[0] = {}) => openTree({ storages: [OBJECTS, { mount_path: '/a' }], ...options });

async function fill(memory: MemoryTree, folder: string, files: number): Promise<void> {
  for (let index = 0; index < files; index += 1) await memory.put(`${folder}/${index % 7}/${index}`, '');
}

/** What one request removes by itself, and what it leaves to tasks. */
async function request(memory: MemoryTree, dir: string, names: readonly string[], who = actor()): Promise<RemovalInput[]> {
  const queued: Begun[] = [];
  await removeEntries(memory.operation(who), { dir, names }, async (begun) => void queued.push(...begun));
  return removalTasks(queued, CREATOR).map(({ input }) => input);
}

/** A folder that is so large that it is removed as a task, and that task. */
async function openLarge() {
  const memory = await openObjects();
  await fill(memory, '/o/large', 1_001);
  const [input] = await request(memory, '/o', ['large']);
  if (!input) throw new Error('no task was made');
  return { memory, input };
}

describe('a removal in a store of objects', () => {
  it('of a large folder is a task; of a small one, of files and of empty folders it is not', async () => {
    const memory = await openObjects();
    await fill(memory, '/o/large', 1_001);
    await fill(memory, '/o/small', 900);
    await memory.put('/o/file');
    await memory.makeFolder('/o/empty');
    const tasks = await request(memory, '/o', ['file', 'large', 'empty', 'none', 'small']);
    expect(tasks).toEqual([{ folder: '/o', storage: 1, begun: [['large', expect.any(String)]] }]);
    expect(await memory.everything('/o')).toHaveLength(1_001);
    for (const input of tasks) await runRemoval(memory.operation(), input);
    expect(await memory.everything('/o')).toEqual([]);
  });

  it('of many entries goes on as a task after the first hundred, and on other storages it never does', async () => {
    const memory = await openObjects();
    const names = Array.from({ length: 103 }, (_, index) => `f${index}`);
    for (const name of names) for (const root of ['/o', '/a']) await memory.put(`${root}/${name}`, '');
    await fill(memory, '/a/large', 1_001);
    expect(await request(memory, '/a', [...names, 'large'])).toEqual([]);
    expect(await memory.everything('/a')).toEqual([]);
    const tasks = await request(memory, '/o', names);
    expect(tasks).toEqual([{ folder: '/o', storage: 1, begun: names.slice(100).map((name) => [name, expect.any(String)]) }]);
    for (const input of tasks) await runRemoval(memory.operation(), input);
    expect(await memory.everything('/o')).toEqual([]);
  });

  it('of thousands of entries is told in turns with other work', async () => {
    const memory = await openObjects();
    const operation = memory.operation();
    const told: number[] = [];
    const changes = { ...operation.changes, entryChanged: (...paths: readonly string[]) => void told.push(paths.length) };
    const names = Array.from({ length: 1_700 }, (_, index) => `none${index}`);
    await removeEntries({ ...operation, changes }, { dir: '/o', names }, async () => {});
    expect(told.filter((count) => count > 1)).toEqual([500, 500, 500, 100]);
  });

  it('leaves what is stored after it was asked for, and says so', async () => {
    const memory = await openObjects();
    const names = Array.from({ length: 130 }, (_, index) => `f${index}`);
    for (const name of names) await memory.put(`/o/${name}`, 'old');
    await fill(memory, '/o/large', 1_001);
    const tasks = await request(memory, '/o', ['large', ...names]);
    const after = ['/o/f120', '/o/f129', '/o/large/3/3', '/o/large/new'];
    for (const path of after) await memory.put(path, 'new');
    const run = createTestRun({ signal: new AbortController().signal });
    const operation = memory.operation();
    const gone: string[] = [];
    const changes = { ...operation.changes, entryGone: (...paths: readonly string[]) => void gone.push(...paths) };
    for (const input of tasks) await runRemoval({ ...operation, changes }, input, run);
    expect((await memory.everything('/o')).sort()).toEqual(after);
    // Also where something else is there by now.
    expect(gone.sort()).toEqual(tasks.flatMap((task) => ('begun' in task ? task.begun.map(([name]) => `/o/${name}`) : [])).sort());
    expect(run.progress.at(-1)?.status).toBe('removed; what came since stays: large and 2 more');
  });

  it('of a folder that is made again leaves that folder', async () => {
    const memory = await openObjects();
    await fill(memory, '/o/large', 1_001);
    const tasks = await request(memory, '/o', ['large']);
    await memory.makeFolder('/o/large');
    await memory.makeFolder('/o/large/4');
    for (const input of tasks) await runRemoval(memory.operation(), input);
    expect(await memory.everything('/o')).toEqual(['/o/large/4/']);
  });

  it('leaves what is stored while its task waits for a step', async () => {
    const { memory, input } = await openLarge();
    let asked = 0;
    await runRemoval(memory.operation(), input, undefined, async () => {
      asked += 1;
      // Of the folders 0 and 3, which go first and later.
      if (asked === 10) for (const path of ['/o/large/0/0', '/o/large/3/3']) await memory.put(path, 'new');
      return memory.operation();
    });
    expect((await memory.everything('/o')).sort()).toEqual(['/o/large/0/0', '/o/large/3/3']);
  });

  it('that no storage can take later is done before the answer', async () => {
    const memory = await openTree({ storages: [{ ...OBJECTS, addition: '{"profile":"object store"}' }] });
    await fill(memory, '/o/large', 1_001);
    const operation = memory.operation();
    const { table } = operation.snapshot;
    const located = locate(memory.snapshot, vpath('/o/large'));
    const { beginRemoval: _, ...driver } = await located.mount.driver();
    const mount = { ...located.mount, driver: async () => driver };
    const without = { ...operation.snapshot, table: { ...table, locate: () => ({ ...located, mount }) } };
    let queued = 0;
    await removeEntries({ ...operation, snapshot: without }, { dir: '/o', names: ['large'] }, async () => {
      queued += 1;
    });
    expect([queued, await memory.everything('/o')]).toEqual([0, []]);
  });

  it('is divided into tasks that each name as much as one can, for each storage', async () => {
    const memory = await openObjects();
    const located = locate(memory.snapshot, vpath('/o/d'));
    const doomed = Array.from({ length: 4_500 }, (_, index) => ({ path: vpath(`/o/d/${index}`), located, begun: `${index}` }));
    const tasks = removalTasks(doomed, CREATOR);
    expect(tasks.map(({ name }) => name)).toEqual([2_000, 2_000, 500].map((count) => `remove ${count} entries of [/o](/)`));
    expect(tasks.flatMap(({ input }) => ('begun' in input ? input.begun.map(([name]) => name) : []))).toEqual(
      doomed.map(({ path }) => path.slice('/o/d/'.length)),
    );
    expect(tasks[1]?.input).toMatchObject({ begun: doomed.slice(2_000, 4_000).map(({ begun }) => [begun, begun]) });
    expect(removalTasks([{ path: vpath('/o/d'), located, begun: '' }], CREATOR)[0]?.name).toBe('remove [/o](/d)');
  });

  it('needs no room in the store where there is none: by more tasks, of short lists', async () => {
    const memory = await openObjects();
    const located = locate(memory.snapshot, vpath(`/o/${'d'.repeat(200)}/f`));
    const doomed = Array.from({ length: 100 }, (_, index) => ({
      path: vpath(`/o/${'d'.repeat(200)}/${index}-${'é'.repeat(100)}`),
      located,
      begun: `begun-${index}`,
    }));
    const tasks = removalTasks(doomed, CREATOR, true);
    for (const { name, input } of tasks) expect(Buffer.byteLength(name + JSON.stringify(input))).toBeLessThanOrEqual(SHORT_TASK_BYTES);
    expect(tasks.length).toBeLessThan(30);
    expect(tasks.flatMap(({ input }) => ('begun' in input ? input.begun.map(([, begun]) => begun) : []))).toEqual(
      doomed.map(({ begun }) => begun),
    );
  });

  it('of empty folders in a large tree is a task', async () => {
    const memory = await openObjects();
    for (let index = 0; index < 600; index += 1) await memory.makeFolder(`/o/d/${index}/inner`);
    await memory.put('/o/d/full/f', '');
    let queued = 0;
    const queue = async () => {
      queued += 1;
    };
    const tidy = (src_dir: string) => removeEmptyDirectories(memory.operation(), { src_dir }, queue);
    await tidy('/o/d/1');
    expect([queued, (await memory.everything('/o/d/1')).length]).toEqual([0, 1]);
    await tidy('/o/d');
    expect([queued, (await memory.everything('/o/d')).length]).toEqual([1, 601]);
    await runRemoval(memory.operation(), { emptyBelow: '/o/d' });
    expect(await memory.everything('/o')).toEqual(['/o/d/full/f']);
    expect((await refusalOf(tidy('/o/none')))[0]).toBe('ENTRY_NOT_FOUND');
    expect((await refusalOf(tidy('/o/d/full/f')))[0]).toBe('NOT_A_DIRECTORY');
  });
});

describe('a task that removes', () => {
  it.each([
    ['another one of its kind', OBJECTS],
    ['one of another kind', { mount_path: '/o' }],
  ])('takes nothing where its storage shows other files by then: %s', async (_what, storage) => {
    const { input } = await openLarge();
    const other = await openTree({ storages: [storage] });
    await other.put('/o/large/file', '');
    const [code, text] = await refusalOf(runRemoval(other.operation(), input));
    expect([code, text]).toEqual(['FAILED_PRECONDITION', expect.stringMatching(/another place than that in which this removal began/)]);
    expect(await other.everything('/o')).toEqual(['/o/large/file']);
  });

  it.each([
    ['the other one lets things be removed', {}],
    ['nothing can be removed from the other one', { remove: undefined, beginRemoval: undefined }],
  ])('in an Alias that was opened while the folder is away in which it has begun waits for it, where %s', async (_what, lacks) => {
    let isAway = false;
    const store = new MemoryDriver({ hasObjects: true });
    const bucket: DriverDefinition = {
      ...memoryDriver,
      name: 'Bucket',
      async open() {
        if (isAway) throw new AppError('STORAGE_UNAVAILABLE', 'away');
        return decorated({ ...operationsOf(store), close: async () => {} });
      },
    };
    const other: DriverDefinition = {
      ...memoryDriver,
      name: 'Other',
      open: async () => decorated({ ...operationsOf(new MemoryDriver()), ...lacks }),
    };
    const addition = JSON.stringify({ paths: 'x:/a\nx:/b', write_conflict_policy: 'first', put_conflict_policy: 'first' });
    const alias = { mount_path: '/o', driver: 'Alias', addition };
    const open = () =>
      openTree({
        storages: [{ mount_path: '/a', driver: 'Bucket' }, { mount_path: '/b', driver: 'Other' }, alias],
        drivers: [bucket, other, aliasDriver],
      });
    const before = await open();
    await fill(before, '/a/large', 1_001);
    const [begun] = await request(before, '/o', ['large']);
    if (!begun) throw new Error('no task was made');
    isAway = true;
    expect((await refusalOf(runRemoval((await open()).operation(), begun)))[0]).toBe('STORAGE_UNAVAILABLE');
    isAway = false;
    const back = await open();
    await runRemoval(back.operation(), begun);
    expect(await back.everything('/a')).toEqual([]);
  });

  it('goes on with all names in the other folders of an Alias where another storage came in the place of one', async () => {
    const stores = [new MemoryDriver({ hasObjects: true }), new MemoryDriver({ hasObjects: true })];
    const bucket = (name: string, at: number): DriverDefinition => ({
      ...memoryDriver,
      name,
      open: async () => decorated({ ...operationsOf(stores[at] ?? new MemoryDriver()), close: async () => {} }),
    });
    const addition = JSON.stringify({ paths: 'x:/a\nx:/b', write_conflict_policy: 'all', put_conflict_policy: 'all' });
    const open = () =>
      openTree({
        storages: [
          { mount_path: '/a', driver: 'First' },
          { mount_path: '/b', driver: 'Second' },
          { mount_path: '/o', driver: 'Alias', addition },
        ],
        drivers: [bucket('First', 0), bucket('Second', 1), aliasDriver],
      });
    const before = await open();
    for (const folder of ['/a', '/b']) for (const name of ['large', 'other']) await fill(before, `${folder}/${name}`, 1_001);
    const [begun] = await request(before, '/o', ['large', 'other']);
    if (!begun) throw new Error('no task was made');
    const first = stores[0];
    stores[0] = new MemoryDriver({ hasObjects: true });
    const elsewhere = await open();
    await elsewhere.put('/a/other/file');
    const run = createTestRun({ signal: new AbortController().signal });
    expect((await refusalOf(runRemoval(elsewhere.operation(), begun, run)))[0]).toBe('FAILED_PRECONDITION');
    expect([await elsewhere.everything('/a'), await elsewhere.everything('/b')]).toEqual([['/a/other/file'], []]);
    if (first) stores[0] = first;
    const back = await open();
    await runRemoval(back.operation(), begun, run);
    expect(await back.everything('/a')).toEqual([]);
  });

  const input: RemovalInput = { folder: '/o', storage: 1, names: ['x', 'large', 'y'] };
  const setUp = async (options: Parameters<typeof openTree>[0] = {}) => {
    const memory = await openObjects(options);
    for (const path of ['/o/x', '/o/y', '/o/stays']) await memory.put(path, '');
    await fill(memory, '/o/large', 40);
    return memory;
  };

  it('that loses its lease stops before the next step, and whoever goes on removes what is left, and nothing new', async () => {
    const memory = await setUp();
    const run = createTestRun({ signal: new AbortController().signal });
    let asked = 0;
    const losing = {
      ...run,
      begin: (text: string) => {
        const raw = run.begin(text);
        const assertLease = async () => {
          asked += 1;
          if (asked === 2) run.lose();
          await raw.assertLease();
        };
        return { ...raw, assertLease };
      },
    };
    expect((await refusalOf(runRemoval(memory.operation(), input, losing)))[0]).toBe('CANCELLED');
    expect(await memory.everything('/o')).toEqual(expect.arrayContaining(['/o/stays', '/o/y']));
    // Stored anew under a name that is done.
    await memory.put('/o/x', 'new');
    await runRemoval(memory.operation(), input, run);
    expect(await memory.everything('/o')).toEqual(['/o/stays', '/o/x']);
  });

  it('that is cancelled leaves the rest, and tells of what may be gone', async () => {
    const memory = await setUp();
    const cancel = new AbortController();
    const run = createTestRun({ signal: cancel.signal });
    const operation = memory.operation(actor(), cancel.signal);
    const changes = { ...operation.changes, entryBecame: () => cancel.abort(new AppError('CANCELLED', 'canceled')) };
    expect((await refusalOf(runRemoval({ ...operation, changes }, input, run)))[0]).toBe('CANCELLED');
    expect(await memory.everything('/o')).toHaveLength(42);
    await runRemoval(memory.operation(), input);
    expect(memory.published).toEqual(expect.arrayContaining(['/o/large', '/o/y']));
  });

  it('asks for rights and rules as they are, and for the storage that was chosen', async () => {
    const refused = async (options: Parameters<typeof openTree>[0], who = actor(), task: RemovalInput = input) => {
      const memory = await setUp(options);
      const before = await memory.everything('/o');
      const refusal = await refusalOf(runRemoval(memory.operation(who), task));
      expect(await memory.everything('/o')).toEqual(before);
      return refusal;
    };
    expect(await refused({}, actor({ permission: 0 }))).toEqual(DENIED);
    expect(await refused({}, actor({ basePath: vpath('/a') }))).toEqual(DENIED);
    expect(await refused({}, actor({ basePath: vpath('/a') }), { emptyBelow: '/o' })).toEqual(DENIED);
    expect(await refused({ rules: [{ path: '/o', write_users: [99] }] })).toEqual(DENIED);
    const inside: RemovalInput = { folder: '/o', storage: 1, names: ['large'] };
    expect(await refused({ rules: [{ path: '/o/large/3', write_users: [99] }] }, actor(), inside)).toEqual(DENIED);
    expect(await refused({ rules: [{ path: '/o/large', hide: '^12$', h_sub: true }] }, actor({ permission: 0xfffe }), inside)).toEqual(
      DENIED,
    );
    expect((await refused({}, actor(), { ...inside, storage: 2 }))[0]).toBe('MOUNT_NOT_FOUND');
  });

  it('ends where a rule comes that forbids it', async () => {
    const memory = await setUp();
    const guarded = await setUp({ rules: [{ path: '/o/large', write_users: [99] }] });
    let asked = 0;
    // The removal begins under one configuration and goes on under another.
    const operations = async () => {
      asked += 1;
      const operation = memory.operation();
      return asked === 1 ? operation : { ...operation, snapshot: { ...operation.snapshot, rules: guarded.snapshot.rules } };
    };
    const removing = runRemoval(memory.operation(), { folder: '/o', storage: 1, names: ['large'] }, undefined, operations);
    expect(await refusalOf(removing)).toEqual(DENIED);
    expect(await memory.everything('/o/large')).toHaveLength(40);
  });

  it('removes nothing that has been hidden since it was asked for, or since its user lost the right to see it', async () => {
    const hiding = { path: '/o/large', hide: '^1000$', h_sub: true };
    const blind = actor({ permission: 0xfffe });
    const memory = await openObjects({ rules: [hiding] });
    await fill(memory, '/o/large', 1_001);
    const before = await memory.everything('/o');
    const ask = async () => {
      const [task] = await request(memory, '/o', ['large']);
      if (!task) throw new Error('no task was made');
      return task;
    };
    // While it waited, and while it is under way.
    expect(await refusalOf(runRemoval(memory.operation(blind), await ask()))).toEqual(DENIED);
    let asked = 0;
    const operations = async () => {
      asked += 1;
      return memory.operation(asked === 1 ? actor() : blind);
    };
    expect(await refusalOf(runRemoval(memory.operation(), await ask(), undefined, operations))).toEqual(DENIED);
    expect(await memory.everything('/o')).toEqual(before);
  });

  /** A folder on a server that lists nothing while it holds its session for a removal. @param later the rules that there are by then */
  async function removeNarrow(before: readonly Partial<RuleRecord>[], later: readonly Partial<RuleRecord>[]) {
    let [isHeld, asks] = [false, 0];
    const narrow: DriverDefinition = {
      ...memoryDriver,
      name: 'Narrow',
      async open(addition, context) {
        const driver = (await memoryDriver.open(addition, context)) as Required<StorageDriver>;
        return decorated({
          ...operationsOf(driver),
          list(path, options) {
            if (isHeld) throw new Error('it waits for what it holds');
            return driver.list(path, options);
          },
          async remove(path, options) {
            isHeld = true;
            asks += 1;
            await options.afterWaiting?.().finally(() => (isHeld = false));
            return driver.remove(path, options);
          },
        });
      },
    };
    const memory = await openTree({ storages: [{ driver: 'Narrow' }], drivers: [narrow] });
    for (const path of ['/large/a', '/large/b']) await memory.put(path);
    const blind = memory.operation(actor({ permission: 0xfffe }));
    const under = async (rules: readonly Partial<RuleRecord>[]) => {
      const { snapshot } = await openTree({ rules });
      return { ...blind, snapshot: { ...blind.snapshot, rules: snapshot.rules } };
    };
    const [begun, now] = [await under(before), await under(later)];
    const run = createTestRun({ signal: blind.signal });
    const attempt = () => runRemoval(begun, { folder: '/', storage: 1, names: ['large'] }, run, async () => (asks === 0 ? begun : now));
    return { attempt, left: () => memory.everything('/large'), asks: () => asks };
  }

  it('asks its storage nothing while that holds its session for the change: it is looked through by the next attempt', async () => {
    const { attempt, left, asks } = await removeNarrow([], [{ path: '/large', hide: '^b$', h_sub: true }]);
    expect(postponedMs(await attempt().catch((error: unknown) => error))).toBeGreaterThan(0);
    expect(await refusalOf(attempt())).toEqual(DENIED);
    expect([asks(), await left()]).toEqual([1, ['/large/a', '/large/b']]);
  });

  it('goes on where our store was away for a moment', async () => {
    const { memory, input } = await openLarge();
    let asked = 0;
    await runRemoval(memory.operation(), input, undefined, async () => {
      asked += 1;
      if (asked === 4) throw new AppError('STORAGE_UNAVAILABLE', 'the store does not answer');
      return memory.operation();
    });
    expect(await memory.everything('/o')).toEqual([]);
  });

  it('goes on where its rules were only read anew while it held its session', async () => {
    const rules = [{ path: '/large', hide: '^none$', h_sub: true }];
    const { attempt, left } = await removeNarrow(rules, rules);
    await attempt();
    expect(await refusalOf(left())).toEqual(['ENTRY_NOT_FOUND', expect.any(String)]);
  });

  it('shows in kept listings what became of it', async () => {
    const memory = await setUp();
    const listed = async () =>
      (await memory.folderCache.read(locate(memory.snapshot, vpath('/o')), { refresh: false, signal: undefined })).names;
    expect(await listed()).toHaveLength(4);
    await runRemoval(memory.operation(), input);
    expect(await listed()).toEqual(['stays']);
    expect(memory.published).toEqual(['/o/x', '/o/large', '/o/y']);
  });
});
