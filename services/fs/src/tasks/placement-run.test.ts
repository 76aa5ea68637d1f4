import { parseVirtualPath } from '@wharf/paths';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createRuleBook } from '../domain/access/rule-book.ts';
import type { Item } from '../domain/changing/operations/plan-placement.ts';
import { getEntry } from '../domain/reading/get-entry.ts';
import { actor, bytesOf, type MemoryTree, mpath, openTree } from '../domain/testing/memory-tree.ts';
import { ruleRecord } from '../domain/testing/records.ts';
import { refusalOf } from '../domain/testing/refusal.ts';
import { createTestDriver, type TestDriver } from '../domain/testing/test-drivers.ts';
import { openStorages } from '../domain/testing/three-storages.ts';
import type { PlacementInput } from './placement.ts';
import { flatteningTasks, placementTasks } from './placement-tasks.ts';
import { flatteningName, placementName, uploadName } from './task-names.ts';
import { runPlacement } from './testing/place-now.ts';
import { createTestRun } from './testing/test-run.ts';

const SOURCE = 1;
const TARGET = 2;
const input = (more: Partial<PlacementInput> = {}): PlacementInput => ({
  source: '/a/d',
  target: '/t/d',
  sourceStorage: SOURCE,
  targetStorage: TARGET,
  conflict: 'refuse',
  ...more,
});

interface World {
  readonly memory: MemoryTree;
  readonly target: TestDriver;
  /** Paths in the target storage that were written, in order. */
  readonly writes: string[];
}

/** A storage with some files, and an empty one whose writes are counted. */
async function openWorld(files: number): Promise<World> {
  const target = createTestDriver('Counting');
  const writes: string[] = [];
  target.failWrites((path) => {
    writes.push(path);
    return false;
  });
  const memory = await openStorages({
    drivers: [target.definition],
    storages: [{ mount_path: '/a' }, { mount_path: '/t', driver: 'Counting' }],
  });
  for (let index = 0; index < files; index += 1) await memory.put(`/a/d/${index % 3 === 0 ? 'sub/' : ''}f${index}`, `content ${index}`);
  await memory.makeFolder('/a/d/empty');
  return { memory, target, writes };
}

const copyOf = async (memory: MemoryTree) => (await memory.everything('/t/d')).map((path) => path.replace('/t/', '/a/'));

describe('names of tasks', () => {
  const place = (mount_path: string, path: string) => ({ mount: { storage: { mount_path } }, path: mpath(path) }) as never;

  it.each([
    ['copy', '/a', '/x/f', '/b', '/y/f', 'copy [/a](/x/f) to [/b](/y)'],
    ['merge', '/a', '/d', '/b', '/d', 'merge [/a](/d) to [/b](/)'],
    ['move', '/a.balance1', '/', '/', '/q/a', 'move [/a.balance1](/) to [/](/q)'],
  ] as const)('%s', (verb, fromMount, from, toMount, to, name) => {
    expect(placementName(verb, place(fromMount, from), place(toMount, to))).toBe(name);
    expect(name).toMatch(/^\w+ \[(.*)\]\((.*)\) to \[(.*)\]\((.*)\)$/);
  });

  it('of files that are taken out of folders, and of uploads', () => {
    expect(flatteningName(place('/a', '/d'), place('/b', '/t'))).toBe('move [/a](/d) to [/b](/t)');
    expect(uploadName('f.txt', place('/b', '/t/f.txt'))).toBe('upload f.txt to [/b](/t)');
  });
});

it('files that move out of folders are named in tasks by pairs of storages, so many in each; of one name the last moves', () => {
  const located = (id: number, mountedAt: string) => ({
    mountedAt: parseVirtualPath(mountedAt),
    mount: { storage: { _id: id, mount_path: mountedAt } },
    path: mpath('/'),
  });
  const item = (source: string, from: ReturnType<typeof located>) =>
    ({ source, target: `/t/${source.split('/').at(-1)}`, from, to: located(9, '/t'), conflict: 'replace' }) as unknown as Item;
  const items = [
    ...Array.from({ length: 4_001 }, (_, index) => item(`/a/d/${index}`, located(1, '/a'))),
    item('/a/d/m/x', located(2, '/a/d/m')),
    item('/a/d/m/y/x', located(2, '/a/d/m')),
  ];
  const tasks = flatteningTasks(parseVirtualPath('/a/d'), items, { id: 1, name: 'n', role: 0 });
  expect(tasks.map(({ name, input: { source, files } }) => [name, source, files?.length])).toEqual([
    ['move [/a](/d) to [/t](/)', '/a/d', 2_000],
    ['move [/a](/d) to [/t](/)', '/a/d', 2_000],
    ['move [/a](/d) to [/t](/)', '/a/d', 1],
    ['move [/a/d/m](/) to [/t](/)', '/a/d/m', 1],
  ]);
  expect(tasks.at(-1)?.input.files).toEqual(['/y/x']);
  expect(
    placementTasks(
      'copy',
      items.slice(0, 1).map((each) => ({ ...each, entry: { isDirectory: false, sizeBytes: 5 } }) as Item),
      { id: 1, name: 'n', role: 0 },
    ),
  ).toMatchObject([{ name: expect.stringMatching(/^copy /), totalBytes: 5 }]);
});

describe('an attempt', () => {
  it('tells what it does in the words of the family', async () => {
    const { memory } = await openWorld(10);
    const run = createTestRun({ signal: new AbortController().signal });
    await runPlacement(memory.operation(), 'copy', input(), run);
    expect(run.progress.flatMap(({ status }) => status ?? [])).toEqual([
      'getting src object',
      'src object is dir, listing objs',
      'uploading',
    ]);
    expect(run.progress.map(({ percent = 0 }) => percent)).toEqual(
      run.progress.map(({ percent = 0 }) => percent).toSorted((a, b) => a - b),
    );
    expect(run.progress.at(-1)).toMatchObject({ doneBytes: run.progress.at(-1)?.totalBytes });
  });

  it.each([
    ['copy', 1],
    ['copy', 2],
    ['copy', 3],
    ['move', 2],
    ['move', 4],
  ] as const)('that loses its %s at checkpoint %i is continued by the next one, and no file is written twice', async (verb, at) => {
    const { memory, writes } = await openWorld(900);
    const before = await memory.everything('/a/d');
    const run = createTestRun({ signal: new AbortController().signal });
    run.onCheckpoint(() => {
      if (run.checkpoints() === at) run.lose();
    });
    expect((await refusalOf(runPlacement(memory.operation(), verb, input(), run)))[0]).toBe('CANCELLED');
    await runPlacement(memory.operation(), verb, input(), run);
    expect(await copyOf(memory)).toEqual(before);
    // Those on their way at the loss were given no name, and began once more.
    expect(writes.length).toBeLessThanOrEqual(908);
    expect(await memory.everything('/a')).toEqual(verb === 'move' ? [] : before);
    expect(await memory.textOf('/t/d/sub/f3')).toBe('content 3');
  });

  it('copies a single file without a checkpoint, and when its worker is lost before it could say so, the next one finds the copy', async () => {
    const { memory, writes } = await openWorld(3);
    const one = input({ source: '/a/d/f1', target: '/t/f1' });
    const run = createTestRun({ signal: new AbortController().signal });
    await runPlacement(memory.operation(), 'copy', one, run);
    expect([run.checkpoints(), writes]).toEqual([0, ['/f1']]);
    await runPlacement(memory.operation(), 'copy', one, run);
    expect(writes).toEqual(['/f1']);
    expect(await memory.textOf('/t/f1')).toBe('content 1');
    const another = createTestRun({ signal: new AbortController().signal });
    expect((await refusalOf(runPlacement(memory.operation(), 'copy', one, another)))[0]).toBe('ENTRY_EXISTS');
  });

  it('takes no single file for its own that was there before, however alike, where earlier workers did not begin', async () => {
    const { memory, target } = await openWorld(3);
    const { entry } = await getEntry(memory.snapshot, parseVirtualPath('/a/d/f1'), undefined);
    await target.storeOf().write(mpath('/f1'), bytesOf('CONTENT 1'), { overwrite: false, modifiedAt: entry.modifiedAt });
    const run = createTestRun({ signal: new AbortController().signal });
    run.passOn();
    const one = input({ source: '/a/d/f1', target: '/t/f1' });
    expect((await refusalOf(runPlacement(memory.operation(), 'copy', one, run)))[0]).toBe('ENTRY_EXISTS');
  });

  it('leaves a single file that is another one as it is, also when it is continued', async () => {
    const { memory, target } = await openWorld(3);
    await target.storeOf().write(mpath('/f1'), bytesOf('somebody else has stored this'), { overwrite: false });
    const one = input({ source: '/a/d/f1', target: '/t/f1' });
    const run = createTestRun({ signal: new AbortController().signal });
    run.begin('{}');
    expect((await refusalOf(runPlacement(memory.operation(), 'copy', one, run)))[0]).toBe('ENTRY_EXISTS');
    expect(await memory.textOf('/t/f1')).toBe('somebody else has stored this');
  });

  it('that replaces files, and is continued, replaces also those of the same size and time', async () => {
    const { memory, target } = await openWorld(5);
    const { entry } = await getEntry(memory.snapshot, parseVirtualPath('/a/d/f1'), undefined);
    await target.storeOf().write(mpath('/d/f1'), bytesOf('CONTENT 1'), { overwrite: false, modifiedAt: entry.modifiedAt });
    const run = createTestRun({ signal: new AbortController().signal });
    run.onCheckpoint(() => {
      if (run.checkpoints() === 1) run.lose();
    });
    const replacing = input({ conflict: 'replace' });
    expect((await refusalOf(runPlacement(memory.operation(), 'copy', replacing, run)))[0]).toBe('CANCELLED');
    expect(await memory.textOf('/t/d/f1')).toBe('CONTENT 1');
    await runPlacement(memory.operation(), 'copy', replacing, run);
    expect(await memory.textOf('/t/d/f1')).toBe('content 1');
  });

  it('without its lease gives no file its name', async () => {
    const { memory } = await openWorld(5);
    const run = createTestRun({ signal: new AbortController().signal });
    const begin = run.begin.bind(run);
    const lost = { ...run, begin: (text: string) => ({ ...begin(text), assertLease: () => Promise.reject(new Error('lost')) }) };
    passTime();
    await expect(runPlacement(memory.operation(), 'copy', input(), lost)).rejects.toThrow('lost');
    expect((await memory.everything('/t')).filter((path) => !path.endsWith('/'))).toEqual([]);
  });

  it('leaves out what its user may not read any more, and says so', async () => {
    const { memory } = await openWorld(9);
    const rules = createRuleBook([ruleRecord({ path: '/a/d/sub', read_users: [99], read_users_sub: true })]);
    const operation = { ...memory.operation(), snapshot: { ...memory.snapshot, rules } };
    expect((await refusalOf(runPlacement(operation, 'copy', input())))[0]).toBe('PERMISSION_DENIED');
    expect(await copyOf(memory)).toEqual((await memory.everything('/a/d')).filter((path) => !path.includes('/sub')));
    expect((await refusalOf(runPlacement(operation, 'move', input({ target: '/t/e' }))))[0]).toBe('PERMISSION_DENIED');
    expect(await memory.everything('/a/d')).toHaveLength(10);
  });

  it.each([
    ['the permission', actor({ permission: 0 })],
    ['the base path', actor({ basePath: parseVirtualPath('/elsewhere') })],
  ])('does nothing when its user has lost %s', async (_what, who) => {
    const { memory } = await openWorld(3);
    expect(await refusalOf(runPlacement(memory.operation(who), 'copy', input()))).toEqual(['PERMISSION_DENIED', 'permission denied']);
    expect(await memory.everything('/t')).toEqual([]);
  });

  it('whose storage went says which', async () => {
    const { memory } = await openWorld(3);
    expect((await refusalOf(runPlacement(memory.operation(), 'copy', input({ targetStorage: 77 }))))[0]).toBe('MOUNT_NOT_FOUND');
  });

  it('copies what it can, says what it could not, and a retry copies that alone', async () => {
    const { memory, target, writes } = await openWorld(20);
    const store = target.storeOf();
    await store.write(mpath('/d/f4'), bytesOf('somebody else was here'), { overwrite: true });
    const run = createTestRun({ signal: new AbortController().signal });
    expect(await refusalOf(runPlacement(memory.operation(), 'copy', input(), run))).toEqual(['ENTRY_EXISTS', 'f4: file [f4] exists']);
    expect(await memory.textOf('/t/d/f4')).toBe('somebody else was here');
    expect(await copyOf(memory)).toEqual(await memory.everything('/a/d'));
    await store.remove(mpath('/d/f4'), { recursive: false });
    writes.length = 0;
    await runPlacement(memory.operation(), 'copy', input(), run);
    expect(writes).toEqual(['/d/f4']);
    expect(await memory.textOf('/t/d/f4')).toBe('content 4');
  });
});

describe('a move', () => {
  it('keeps a source that changed after it was copied, in both places; a retry moves it as it is then', async () => {
    const { memory } = await openWorld(6);
    const run = createTestRun({ signal: new AbortController().signal });
    run.onCheckpoint(async () => {
      if (run.checkpoints() === 2) await memory.put('/a/d/f2', 'changed much later');
    });
    const [code, message] = await refusalOf(runPlacement(memory.operation(), 'move', input(), run));
    expect(code).toBe('CONTENT_CORRUPT');
    expect(message).toMatch(/changed while .* moved; .* in both places/);
    expect(await memory.textOf('/a/d/f2')).toBe('changed much later');
    expect(await memory.everything('/t/d')).toHaveLength(7);
    await runPlacement(memory.operation(), 'move', input(), run);
    expect(await memory.everything('/a')).toEqual([]);
    expect(await memory.textOf('/t/d/f2')).toBe('changed much later');
  });

  it('to a storage that is full removes nothing', async () => {
    const { memory, target } = await openWorld(6);
    target.failWrites((path) => path === '/d/f4');
    const before = await memory.everything('/a');
    expect((await refusalOf(runPlacement(memory.operation(), 'move', input())))[0]).toBe('QUOTA_EXCEEDED');
    expect(await memory.everything('/a')).toEqual(before);
  });

  it('of a folder that somebody puts something into leaves that, and the folder', async () => {
    const { memory } = await openWorld(6);
    const run = createTestRun({ signal: new AbortController().signal });
    run.onCheckpoint(async () => {
      if (run.checkpoints() === 2) await memory.put('/a/d/sub/new');
    });
    await runPlacement(memory.operation(), 'move', input(), run);
    expect(await memory.everything('/a')).toEqual(['/a/d/sub/new']);
  });
});

describe('within a storage that copies files by itself', () => {
  /** A storage without rename, whose copies are of files alone. */
  const openObjects = async (files: number) => {
    const objects = createTestDriver('Objects', ['rename', 'listNames', 'statMany']);
    objects.refuseCopies((_from, isDirectory) => isDirectory);
    const memory = await openTree({ drivers: [objects.definition], storages: [{ mount_path: '/a', driver: 'Objects' }] });
    for (let index = 0; index < files; index += 1) await memory.put(`/a/d/${index % 3 === 0 ? 'sub/' : ''}f${index}`, `content ${index}`);
    await memory.makeFolder('/a/d/empty');
    objects.calls();
    return { memory, objects };
  };
  const inside = (more: Partial<PlacementInput> = {}) => input({ target: '/a/e', targetStorage: SOURCE, ...more });
  const contents = async (memory: MemoryTree, folder: string) =>
    Promise.all(
      (await memory.everything(folder)).map(async (path) => [
        path.slice(folder.length),
        path.endsWith('/') ? '' : await memory.textOf(path),
      ]),
    );

  it.each(['copy', 'move'] as const)('a %s of a folder passes no byte through us, and counts all', async (verb) => {
    const { memory, objects } = await openObjects(30);
    const before = await contents(memory, '/a/d');
    const run = createTestRun({ signal: new AbortController().signal });
    objects.calls();
    await runPlacement(memory.operation(), verb, inside(), run);
    const { read = 0, write = 0, copy } = objects.calls();
    expect([read, write, copy]).toEqual([0, 0, 30]);
    expect(await contents(memory, '/a/e')).toEqual(before);
    expect(await memory.everything('/a')).toHaveLength(verb === 'copy' ? 2 * before.length : before.length);
    const bytes = before.reduce((sum, [, text = '']) => sum + text.length, 0);
    expect(run.progress.at(-1)).toMatchObject({ doneBytes: bytes, totalBytes: bytes });
  });

  it('what is there is kept, refused or replaced as anywhere', async () => {
    const { memory } = await openObjects(3);
    await memory.put('/a/e/f1', 'old');
    expect((await refusalOf(runPlacement(memory.operation(), 'copy', inside())))[0]).toBe('ENTRY_EXISTS');
    await runPlacement(memory.operation(), 'copy', inside({ conflict: 'keep' }));
    expect(await memory.textOf('/a/e/f1')).toBe('old');
    await runPlacement(memory.operation(), 'copy', inside({ conflict: 'replace' }));
    expect(await memory.textOf('/a/e/f1')).toBe('content 1');
  });

  it('without its lease nothing is copied', async () => {
    const { memory, objects } = await openObjects(5);
    const run = createTestRun({ signal: new AbortController().signal });
    const begin = run.begin.bind(run);
    const lost = { ...run, begin: (text: string) => ({ ...begin(text), assertLease: () => Promise.reject(new Error('lost')) }) };
    passTime();
    await expect(runPlacement(memory.operation(), 'copy', inside(), lost)).rejects.toThrow('lost');
    expect(objects.calls().copy).toBeUndefined();
  });

  it('an attempt that replaces, and is lost, is continued without a byte', async () => {
    const { memory, objects } = await openObjects(20);
    await runPlacement(memory.operation(), 'copy', inside());
    objects.calls();
    const run = createTestRun({ signal: new AbortController().signal });
    const replacing = inside({ conflict: 'replace' });
    run.onCheckpoint(() => {
      if (run.checkpoints() === 1) run.lose();
    });
    expect((await refusalOf(runPlacement(memory.operation(), 'copy', replacing, run)))[0]).toBe('CANCELLED');
    await runPlacement(memory.operation(), 'copy', replacing, run);
    expect(objects.calls()).not.toHaveProperty('read');
    expect(await contents(memory, '/a/e')).toEqual(await contents(memory, '/a/d'));
  });

  it('a file that it does not copy is read and written', async () => {
    const { memory, objects } = await openObjects(4);
    objects.refuseCopies((from, isDirectory) => isDirectory || from.endsWith('f2'));
    objects.calls();
    await runPlacement(memory.operation(), 'copy', inside());
    expect(objects.calls()).toMatchObject({ read: 1, write: 1, copy: 4 });
    expect(await contents(memory, '/a/e')).toEqual(await contents(memory, '/a/d'));
  });

  it('files go into a folder that is not there yet', async () => {
    const { memory, objects } = await openObjects(4);
    objects.calls();
    await runPlacement(memory.operation(), 'move', inside({ target: '/a/new/deep', files: ['/f1', '/sub/f3'] }));
    expect(await memory.everything('/a/new')).toEqual(['/a/new/deep/f1', '/a/new/deep/f3']);
    expect(objects.calls()).not.toHaveProperty('write');
  });
});

/** Each look at the clock is a long time after the last one: nothing that was asked before counts any more. */
function passTime(): void {
  let nowMs = performance.now();
  const now = vi.spyOn(performance, 'now').mockImplementation(() => {
    nowMs += 10_000;
    return nowMs;
  });
  onTestFinished(() => now.mockRestore());
}
