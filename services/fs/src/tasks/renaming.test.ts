import { expect, it } from 'vitest';
import { batchRename as renameInBatch } from '../domain/changing/operations/batch-rename.ts';
import type { Item } from '../domain/changing/operations/plan-placement.ts';
import { regexRename } from '../domain/changing/operations/regex-rename.ts';
import { actor, openTree } from '../domain/testing/memory-tree.ts';
import { refusalOf } from '../domain/testing/refusal.ts';
import { placementTasks, renamingTasks } from './placement-tasks.ts';
import { batchRename, CREATOR, runPlacement } from './testing/place-now.ts';

const OBJECTS = { mount_path: '/o', driver: 'Memory', addition: '{"profile":"object store"}' };
const openObjects = () => openTree({ storages: [OBJECTS, { mount_path: '/a' }] });
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
const renaming = (count: number, to: (index: number) => string) =>
  numbers(count).map((index) => ({ src_name: `f${index}`, new_name: to(index) }));

it('many files of a store without renames get their names by a task, which only the store copies', async () => {
  const memory = await openObjects();
  for (const index of numbers(150)) await memory.put(`/o/d/f${index}`, `text ${index}`);
  expect(await batchRename(memory.operation(), { src_dir: '/o/d', rename_objects: renaming(150, (index) => `g${index}`) })).toBe(1);
  expect(await memory.everything('/o')).toEqual(
    numbers(150)
      .map((index) => `/o/d/g${index}`)
      .sort(),
  );
  expect(await memory.textOf('/o/d/g149')).toBe('text 149');
});

it('few files, and those of a storage that renames, have theirs when the request is answered', async () => {
  const memory = await openObjects();
  for (const index of numbers(150)) await memory.put(`/a/d/f${index}`, '');
  for (const index of numbers(3)) await memory.put(`/o/d/f${index}`, '');
  expect(await batchRename(memory.operation(), { src_dir: '/a/d', rename_objects: renaming(150, (index) => `g${index}`) })).toBe(0);
  expect(await batchRename(memory.operation(), { src_dir: '/o/d', rename_objects: renaming(3, (index) => `g${index}`) })).toBe(0);
  expect(await memory.everything('/o')).toEqual(numbers(3).map((index) => `/o/d/g${index}`));
});

it('names that follow one another are given in the request, however many', async () => {
  const memory = await openObjects();
  for (const index of numbers(120)) await memory.put(`/o/d/f${index}`, `text ${index}`);
  expect(await batchRename(memory.operation(), { src_dir: '/o/d', rename_objects: renaming(120, (index) => `f${index + 1}`) })).toBe(0);
  expect(await memory.textOf('/o/d/f120')).toBe('text 119');
  expect(await memory.everything('/o')).toHaveLength(120);
});

it('a large folder among them has a task of its own', async () => {
  const memory = await openObjects();
  for (const index of numbers(101)) await memory.put(`/o/f0/${index}`, '');
  await memory.put('/o/f1', '');
  expect(await batchRename(memory.operation(), { src_dir: '/o', rename_objects: renaming(2, (index) => `g${index}`) })).toBe(2);
  expect(await memory.everything('/o')).toEqual([...numbers(101).map((index) => `/o/g0/${index}`), '/o/g1'].sort());
});

it('renaming by a pattern does likewise', async () => {
  const memory = await openObjects();
  for (const index of numbers(101)) await memory.put(`/o/d/f${index}`, '');
  const queued: Item[] = [];
  const request = { src_dir: '/o/d', src_name_regex: '^f(\\d+)$', new_name_regex: 'g$1' };
  await regexRename(memory.operation(), request, async (items) => void queued.push(...items));
  expect(queued).toHaveLength(101);
  for (const { input } of renamingTasks(queued, CREATOR)) await runPlacement(memory.operation(), 'move', input);
  expect(await memory.everything('/o')).toEqual(
    numbers(101)
      .map((index) => `/o/d/g${index}`)
      .sort(),
  );
});

it('a task gives no name that came meanwhile, and takes none from those who may not rename', async () => {
  const memory = await openObjects();
  for (const index of numbers(101)) await memory.put(`/o/d/f${index}`, `text ${index}`);
  const before = await memory.everything('/o');
  const queued: Item[] = [];
  const request = { src_dir: '/o/d', rename_objects: renaming(101, (index) => `g${index}`) };
  await renameInBatch(memory.operation(), request, async (items) => void queued.push(...items));
  const [task] = renamingTasks(queued, CREATOR);
  if (!task) throw new Error('no task was made');
  expect(task.name).toBe('move [/o](/d) to [/o](/d)');
  const run = (who = actor()) => runPlacement(memory.operation(who), 'move', task.input);
  expect((await refusalOf(run(actor({ permission: 0 }))))[0]).toBe('PERMISSION_DENIED');
  expect(await memory.everything('/o')).toEqual(before);
  await memory.put('/o/d/g7', 'new');
  expect(await refusalOf(run())).toEqual(['ENTRY_EXISTS', 'f7: file [g7] exists']);
  // Nothing went: who looks finds every file by its old name.
  expect(await memory.everything('/o')).toEqual(expect.arrayContaining(before));
  expect(await memory.textOf('/o/d/g7')).toBe('new');
  expect(placementTasks('move', [], CREATOR)).toEqual([]);
});
