import type { MountPath } from '@wharf/paths';
import { describe, expect, it } from 'vitest';
import { createRuleBook } from '../domain/access/rule-book.ts';
import { placeEntries } from '../domain/changing/operations/place-entries.ts';
import type { Item } from '../domain/changing/operations/plan-placement.ts';
import { recursiveMove } from '../domain/changing/operations/recursive-move.ts';
import { removeEntries } from '../domain/changing/operations/remove-entries.ts';
import { renameEntry } from '../domain/changing/operations/rename-entry.ts';
import { actor, bytesOf, type MemoryTree, openTree, vpath } from '../domain/testing/memory-tree.ts';
import { ruleRecord } from '../domain/testing/records.ts';
import { refusalOf } from '../domain/testing/refusal.ts';
import { createTestDriver } from '../domain/testing/test-drivers.ts';
import { DENIED, openStorages, without } from '../domain/testing/three-storages.ts';
import type { DriverDefinition } from '../driver-contract/define-driver.ts';
import { flatteningTasks, placementTasks } from './placement-tasks.ts';
import { copyEntries, moveEntries, runPlacement } from './testing/place-now.ts';

const placement = (
  src_dir: string,
  dst_dir: string,
  names: string[],
  rest: { overwrite?: boolean; skip_existing?: boolean; merge?: boolean } = {},
) => ({
  src_dir,
  dst_dir,
  names,
  overwrite: false,
  skip_existing: false,
  ...rest,
});

const WAYS = [
  ['within a storage', '/a/from', '/a/to'],
  ['within a storage that only reads and writes', '/p/from', '/p/to'],
  ['to another storage', '/a/from', '/b/to'],
  ['from one that only reads and writes', '/p/from', '/a/to'],
] as const;

describe.each(WAYS)('%s', (_how, from, to) => {
  it('moving takes files and folders along, with empty folders and times, into a folder that need not be there', async () => {
    const memory = await openStorages();
    await memory.put(`${from}/f`, 'text');
    await memory.put(`${from}/d/e/g`, 'deep');
    await memory.makeFolder(`${from}/d/empty`);
    await moveEntries(memory.operation(), placement(from, to, ['f', 'd']));
    expect(await memory.everything('/')).toEqual([`${from}/`, `${to}/d/e/g`, `${to}/d/empty/`, `${to}/f`].sort());
    expect(await memory.textOf(`${to}/d/e/g`)).toBe('deep');
    for (const path of [`${from}/f`, `${to}/f`, `${from}/d`, `${to}/d`]) expect(memory.published).toContain(path);
  });

  it('copying leaves the source, and keeps empty folders', async () => {
    const memory = await openStorages();
    await memory.put(`${from}/d/g`, 'deep');
    await memory.makeFolder(`${from}/d/empty`);
    await copyEntries(memory.operation(), placement(from, to, ['d']));
    expect(await memory.everything('/')).toEqual([`${from}/d/empty/`, `${from}/d/g`, `${to}/d/empty/`, `${to}/d/g`].sort());
    expect(memory.published).toEqual([`${to}/d`]);
  });

  describe.each([
    ['move', moveEntries],
    ['copy', copyEntries],
  ] as const)('%s over something', (verb, act) => {
    const left = (path: string) => (verb === 'copy' ? [path] : []);
    const setUp = async () => {
      const memory = await openStorages();
      await memory.put(`${from}/f`, 'new');
      await memory.put(`${from}/d/both`, 'new');
      await memory.put(`${from}/d/mine`, 'new');
      await memory.put(`${to}/f`, 'older');
      await memory.put(`${to}/d/both`, 'older');
      await memory.put(`${to}/d/theirs`, 'older');
      return memory;
    };

    it('is refused before anything is done', async () => {
      const memory = await setUp();
      await memory.put(`${from}/free`);
      const before = await memory.everything('/');
      expect(await refusalOf(act(memory.operation(), placement(from, to, ['free', 'f'])))).toEqual(['ENTRY_EXISTS', 'file [f] exists']);
      expect(await refusalOf(act(memory.operation(), placement(from, to, ['free', 'd'])))).toEqual(['ENTRY_EXISTS', 'file [d] exists']);
      expect(await memory.everything('/')).toEqual(before);
      expect(memory.published).toEqual([]);
    });

    it('leaves out what is taken with skip_existing', async () => {
      const memory = await setUp();
      await memory.put(`${from}/free`);
      await act(memory.operation(), placement(from, to, ['f', 'free', 'd'], { skip_existing: true }));
      expect(await memory.textOf(`${to}/f`)).toBe('older');
      expect(await memory.textOf(`${to}/free`)).toBe(`${from}/free`);
      expect(await memory.textOf(`${from}/f`)).toBe('new');
    });

    it('replaces files and merges folders with overwrite', async () => {
      const memory = await setUp();
      await act(memory.operation(), placement(from, to, ['f', 'd'], { overwrite: true }));
      expect(await memory.textOf(`${to}/f`)).toBe('new');
      expect(await memory.textOf(`${to}/d/both`)).toBe('new');
      expect(await memory.everything(to)).toEqual([`${to}/d/both`, `${to}/d/mine`, `${to}/d/theirs`, `${to}/f`]);
      expect((await memory.everything(from)).filter((path) => path === `${from}/f`)).toEqual(left(`${from}/f`));
    });
  });

  it('copying merges folders and leaves the files that are there with merge', async () => {
    const memory = await openStorages();
    for (const path of [`${from}/f`, `${from}/d/both`, `${from}/d/mine`]) await memory.put(path, 'new');
    for (const path of [`${to}/f`, `${to}/d/both`]) await memory.put(path, 'old');
    await copyEntries(memory.operation(), placement(from, to, ['f', 'd'], { merge: true }));
    expect(await Promise.all([`${to}/f`, `${to}/d/both`, `${to}/d/mine`].map((path) => memory.textOf(path)))).toEqual([
      'old',
      'old',
      'new',
    ]);
  });
});

describe.each([
  ['move', moveEntries],
  ['copy', copyEntries],
] as const)('%s', (verb, act) => {
  const refused = async (memory: MemoryTree, request: Parameters<typeof act>[1], who = actor()) =>
    refusalOf(act(memory.operation(who), request));

  it('into the same folder, onto itself or into itself is refused', async () => {
    const memory = await openStorages();
    await memory.put('/a/d/x');
    expect(await refused(memory, placement('/a', 'a/', ['d']))).toEqual(['FAILED_PRECONDITION', `${verb} in place`]);
    expect(await refused(memory, placement('/a', '/a/d', ['d']))).toEqual(['FAILED_PRECONDITION', `${verb} of a folder into itself`]);
    expect(await refused(memory, placement('/a', '/a/d/x/y', ['d'], { overwrite: true }))).toEqual([
      'FAILED_PRECONDITION',
      `${verb} of a folder into itself`,
    ]);
    expect(await memory.everything('/a')).toEqual(['/a/d/x']);
  });

  it('takes a name that is given twice once', async () => {
    const memory = await openStorages();
    await memory.put('/a/f');
    const request = placement('/a', '/b', ['f', '/f'], { skip_existing: true });
    await act(memory.operation(), request);
    expect(await memory.everything('/b')).toEqual(['/b/f']);
  });

  it('of one name twice is refused, also where it may replace', async () => {
    const memory = await openStorages();
    await memory.put('/a/f');
    for (const overwrite of [false, true])
      expect(await refused(memory, placement('/a', '/b', ['f', 'f/'], { overwrite }))).toEqual(['ENTRY_EXISTS', 'file [f] exists']);
    expect(await memory.everything('/')).toEqual(['/a/f']);
  });

  it('checks names first', async () => {
    const memory = await openStorages();
    await memory.put('/a/f');
    expect(await refused(memory, placement('/a', '/b', []))).toEqual(['INVALID_ARGUMENT', 'Empty file names']);
    expect(await refused(memory, placement('/a', '/b', ['f', '/']))).toEqual(['INVALID_ARGUMENT', 'invalid file name [/]']);
    expect((await refused(memory, placement('/a', '/b', ['f', '..\\a'])))[0]).toBe('UNSAFE_PATH');
    expect((await refused(memory, placement('/a', '/b', ['f', 'none'])))[0]).toBe('ENTRY_NOT_FOUND');
    expect(await memory.everything('/b')).toEqual([]);
  });

  it('leaves out names that lead out of the folder', async () => {
    const memory = await openStorages();
    for (const path of ['/a/in/f', '/a/in/deep/g', '/a/out']) await memory.put(path);
    await act(memory.operation(), placement('/a/in', '/b', ['../out', '..', '../', 'f']));
    expect(await memory.everything('/b')).toEqual(['/b/f']);
    expect(await memory.textOf('/a/out')).toBe('/a/out');
  });

  it('needs a folder to put things into', async () => {
    const memory = await openStorages();
    for (const path of ['/a/f', '/b/file']) await memory.put(path);
    for (const choice of [{}, { overwrite: true }, { skip_existing: true }])
      expect(await refused(memory, { ...placement('/a', '/b/file', ['f']), ...choice })).toEqual(['NOT_A_DIRECTORY', 'not a folder']);
    expect(await memory.everything()).toEqual(['/a/f', '/b/file']);
  });

  it('needs its permission and what the rules of both places say', async () => {
    const memory = await openStorages({
      rules: [
        { path: '/a/locked', password: 'pw', p_sub: true },
        { path: '/a/d/inner', read_users: [99], read_users_sub: true },
        { path: '/b/fixed', write_users: [99], write_users_sub: true },
        { path: '/b/box', password: 'pw', p_sub: true },
      ],
    });
    for (const path of ['/a/f', '/a/locked/f', '/a/d/inner/f']) await memory.put(path);
    const untrusted = without('access_without_password');
    expect(await refused(memory, placement('/a', '/b', ['f']), without(verb === 'move' ? 'move' : 'copy'))).toEqual(DENIED);
    expect((await refused(memory, placement('/a/locked', '/b', ['f']), untrusted))[0]).toBe('PERMISSION_DENIED');
    expect(await refused(memory, placement('/a', '/b', ['locked']), untrusted)).toEqual(DENIED);
    expect(await refused(memory, placement('/a', '/b', ['d']))).toEqual(DENIED);
    expect(await refused(memory, placement('/a', '/b/fixed', ['f']))).toEqual(DENIED);
    // Nobody is asked for the password of a place into which a caller only puts something.
    await act(memory.operation(untrusted), placement('/a', '/b/box', ['f']));
    expect(await memory.everything('/b')).toEqual(['/b/box/f']);
  });

  it('stays with one of several storages at one place from the look to the deed', async () => {
    const memory = await openStorages({
      storages: [
        { mount_path: '/g.balance1', driver: 'Plain', addition: '{"store":"1"}' },
        { mount_path: '/g.balance2', driver: 'Plain', addition: '{"store":"2"}' },
      ],
    });
    // Each call takes the next storage in turn: the file goes to one of them, and is looked for in the same one.
    await memory.put('/g/f', 'text');
    memory.snapshot.table.locate(vpath('/g'));
    await act(memory.operation(), placement('/g', '/g/d', ['f']));
    memory.snapshot.table.locate(vpath('/g'));
    const texts = await Promise.allSettled([memory.textOf('/g/d/f'), memory.textOf('/g/d/f')]);
    expect(texts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

it('a mount point is not moved, but what it holds can be copied', async () => {
  const memory = await openStorages();
  await memory.put('/a/f', 'text');
  expect(await refusalOf(moveEntries(memory.operation(), placement('/', '/b', ['a'])))).toEqual([
    'FAILED_PRECONDITION',
    'move root folder is not allowed',
  ]);
  await copyEntries(memory.operation(), placement('/', '/b', ['a']));
  expect(await memory.textOf('/b/a/f')).toBe('text');
});

it('what was done before a failure stays, is told, and nothing is lost', async () => {
  const full = createTestDriver('Full');
  const memory = await openStorages({
    drivers: [full.definition],
    storages: [{ mount_path: '/a' }, { mount_path: '/full', driver: 'Full' }],
  });
  for (const path of ['/a/d/1', '/a/d/2', '/a/d/3']) await memory.put(path);
  full.failWrites((path) => path === '/d/2');
  expect((await refusalOf(moveEntries(memory.operation(), placement('/a', '/full', ['d']))))[0]).toBe('QUOTA_EXCEEDED');
  expect(await memory.everything('/a')).toEqual(['/a/d/1', '/a/d/2', '/a/d/3']);
  expect(memory.published).toContain('/full/d');
});

it.each([
  ['copy', copyEntries],
  ['move', moveEntries],
])('a %s of a file of which its storage gives less than it has replaces nothing, and others are copied', async (_verb, place) => {
  const store = createTestDriver('Short');
  const definition: DriverDefinition = {
    ...store.definition,
    async open(...given) {
      const driver = await store.definition.open(...given);
      const short = async (path: MountPath) => ({ ...(await driver.stat(path)), sizeBytes: 2 });
      return {
        ...driver,
        read: async (path, ...rest) =>
          path.endsWith('/g') ? driver.read(path, ...rest) : { entry: await short(path), [Symbol.asyncIterator]: () => bytesOf('te') },
      };
    },
  };
  const storages = [{ mount_path: '/s', driver: 'Short' }, { mount_path: '/b' }];
  const memory = await openStorages({ drivers: [definition], storages });
  for (const path of ['/s/d/f', '/s/d/g']) await memory.put(path, 'text');
  await memory.put('/b/d/f', 'old');
  const refused = await refusalOf(place(memory.operation(), placement('/s', '/b', ['d'], { overwrite: true })));
  expect(refused).toEqual(['FAILED_PRECONDITION', 'f: its storage gives 2 bytes of a file of which it says that it has 4: try again']);
  expect(await memory.everything('/')).toEqual(['/b/d/f', '/b/d/g', '/s/d/f', '/s/d/g']);
  expect(await memory.textOf('/b/d/f')).toBe('old');
});

it('a cancelled copy ends', async () => {
  const memory = await openStorages();
  for (const path of ['/a/d/1', '/a/d/2']) await memory.put(path);
  const gone = AbortSignal.abort();
  expect((await refusalOf(copyEntries(memory.operation(actor(), gone), placement('/a', '/b', ['d']))))[0]).toBe('CANCELLED');
  expect(await memory.everything('/b')).toEqual([]);
});

describe('C16: a guarded file that appears after the look', () => {
  const late = { path: '/b/late', password: 'pw' };
  const untrusted = without('access_without_password');
  const creator = { id: 7, name: 'somebody', role: 0 };

  it.each(['move', 'copy'] as const)('is not replaced by the task of a %s', async (verb) => {
    const memory = await openStorages({ rules: [late] });
    for (const name of ['late', 'free']) await memory.put(`/a/${name}`, 'new');
    const queued: Item[] = [];
    const operation = memory.operation(untrusted);
    await placeEntries(operation, placement('/a', '/b', ['late', 'free'], { overwrite: true }), verb, async (items) => {
      queued.push(...items);
    });
    for (const name of ['late', 'free']) await memory.put(`/b/${name}`, 'older');
    const outcomes = [];
    for (const { input } of placementTasks(verb, queued, creator))
      outcomes.push(await refusalOf(runPlacement(operation, verb, input)).catch(() => 'done'));
    expect(outcomes).toEqual([['ENTRY_EXISTS', 'file [late] exists'], 'done']);
    expect([await memory.textOf('/b/late'), await memory.textOf('/b/free')]).toEqual(['older', 'new']);
  });

  it.each(['move', 'copy'] as const)('is not replaced by a %s that was queued before there was the rule', async (verb) => {
    const memory = await openStorages();
    for (const name of ['late', 'free']) {
      await memory.put(`/a/${name}`, 'new');
      await memory.put(`/b/${name}`, 'older');
    }
    const queued: Item[] = [];
    const request = placement('/a', '/b', ['late', 'free'], { overwrite: true });
    await placeEntries(memory.operation(untrusted), request, verb, async (items) => void queued.push(...items));
    const snapshot = { ...memory.snapshot, rules: createRuleBook([ruleRecord(late)]) };
    const outcomes = [];
    for (const { input } of placementTasks(verb, queued, creator))
      outcomes.push(await refusalOf(runPlacement({ ...memory.operation(untrusted), snapshot }, verb, input)).catch(() => 'done'));
    expect(outcomes).toEqual([['ENTRY_EXISTS', 'file [late] exists'], 'done']);
    expect([await memory.textOf('/b/late'), await memory.textOf('/b/free')]).toEqual(['older', 'new']);
    expect(await memory.textOf('/a/late')).toBe('new');
  });

  it('is not replaced by the task of a recursive move, which takes along what it may replace', async () => {
    const memory = await openStorages({ rules: [late] });
    for (const name of ['late', 'free']) await memory.put(`/a/d/${name}`, 'new');
    const queued: Item[] = [];
    const operation = memory.operation(untrusted);
    await recursiveMove(operation, { src_dir: '/a', dst_dir: '/b', conflict_policy: 'overwrite' }, async (items) => {
      queued.push(...items);
    });
    for (const name of ['late', 'free']) await memory.put(`/b/${name}`, 'older');
    for (const { input } of flatteningTasks(vpath('/a'), queued, creator))
      await runPlacement(operation, 'move', input).catch(() => undefined);
    expect([await memory.textOf('/b/late'), await memory.textOf('/b/free')]).toEqual(['older', 'new']);
  });
});

it('entries are looked at several at a time, and the first that is refused says so for all', async () => {
  const [source, target] = [createTestDriver('From'), createTestDriver('To')];
  const memory = await openTree({
    drivers: [source.definition, target.definition],
    storages: [
      { mount_path: '/from', driver: 'From' },
      { mount_path: '/to', driver: 'To' },
    ],
  });
  const names = Array.from({ length: 40 }, (_, index) => `f${index}`);
  for (const name of names) await memory.put(`/from/${name}`, name);
  for (const name of ['f20', 'f21']) await memory.put(`/to/${name}`, 'taken');
  let looks = 0;
  let most = 0;
  source.beforeCalls(async () => {
    looks += 1;
    most = Math.max(most, looks);
    await new Promise(setImmediate);
    looks -= 1;
  });
  const plan = (wanted: string[]) =>
    placeEntries(memory.operation(), placement('/from', '/to', wanted), 'copy', async (items) => void queued.push(...items));
  const queued: Item[] = [];
  await plan(names.slice(0, 20));
  expect(queued.map(({ source }) => source)).toEqual(names.slice(0, 20).map((name) => `/from/${name}`));
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(16);
  expect(await refusalOf(plan(names))).toEqual(['ENTRY_EXISTS', 'file [f20] exists']);
  expect(await refusalOf(plan([...names.slice(0, 18), 'gone', ...names.slice(18)]))).toEqual(['ENTRY_NOT_FOUND', expect.any(String)]);
  expect(queued).toHaveLength(20);
});

it('a name of several segments is refused before anything is asked of it', async () => {
  const memory = await openStorages();
  await memory.put('/a/d/kept');
  const refused = ['UNSAFE_PATH', 'using relative path is not allowed'];
  for (const names of [['d/kept'], Array.from({ length: 1500 }, () => 'd/'.repeat(400))]) {
    expect(await refusalOf(removeEntries(memory.operation(), { dir: '/a', names }))).toEqual(refused);
    expect(await refusalOf(moveEntries(memory.operation(), placement('/a', '/b', names)))).toEqual(refused);
    expect(await refusalOf(copyEntries(memory.operation(), placement('/a', '/b', names)))).toEqual(refused);
  }
  expect(await memory.everything()).toEqual(['/a/d/kept']);
});

describe('another name for a large folder', () => {
  const rename = async (memory: MemoryTree, root: string, files: number, who = actor()) => {
    for (let index = 0; index < files; index += 1) await memory.put(`${root}/d/e/f${index}`, `${index}`);
    const queued: Item[] = [];
    await renameEntry(memory.operation(who), { path: `${root}/d`, name: 'n', overwrite: false }, async (items) => {
      queued.push(...items);
    });
    return queued;
  };

  it.each([
    ['/a', 150, 0],
    ['/p', 99, 0],
    ['/p', 100, 1],
  ])('in %s with %i files leaves %i to tasks', async (root, files, tasks) => {
    const memory = await openStorages();
    expect(await rename(memory, root, files)).toHaveLength(tasks);
    if (tasks === 0) expect(await memory.everything(root)).toHaveLength(files);
    expect(await memory.everything(root)).toContain(`${root}/${tasks === 0 ? 'n' : 'd'}/e/f7`);
  });

  it('is done by a task, by who may rename and not move', async () => {
    const memory = await openStorages();
    const who = without('move');
    const [task] = placementTasks('move', await rename(memory, '/p', 120, who), { id: 7, name: 'somebody', role: 0 });
    await runPlacement(memory.operation(who), 'move', task?.input ?? expect.fail('no task'));
    const names = Array.from({ length: 120 }, (_, index) => `/p/n/e/f${index}`).sort();
    expect(await memory.everything('/p')).toEqual(names);
    expect(await refusalOf(runPlacement(memory.operation(without('rename')), 'move', task?.input ?? expect.fail('no task')))).toEqual(
      DENIED,
    );
  });
});
