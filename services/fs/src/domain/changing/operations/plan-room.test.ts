import { expect, it } from 'vitest';
import { locate } from '../../snapshot/snapshot.ts';
import { actor, openTree, vpath } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { batchRename } from './batch-rename.ts';
import { placeEntries } from './place-entries.ts';
import { createPlanRoom } from './plan-room.ts';
import { recursiveMove } from './recursive-move.ts';
import { regexRename } from './regex-rename.ts';
import { removeEmptyDirectories } from './remove-empty-directories.ts';
import { removeEntries } from './remove-entries.ts';
import { requireNothingHidden } from './require-nothing-hidden.ts';

const MIB = 1024 * 1024;
const TOO_LONG = ['FAILED_PRECONDITION', 'these are too many entries for one request: take a part of them'];
const BUSY = ['OVERLOADED', 'too many entries are being changed at once: try again in a moment'];

it('one caller has half of the room, short plans go on beside long ones, and what is left is free', async () => {
  const enter = createPlanRoom(4 * MIB);
  const first = enter('user 1');
  first.take(1.5 * MIB);
  const [second, third] = [enter('user 1'), enter('user 2')];
  expect(await refusalOf((async () => second.take(MIB))())).toEqual(BUSY);
  second.leave();
  second.take(1_000);
  third.take(2 * MIB);
  expect(await refusalOf((async () => third.take(1))())).toEqual(TOO_LONG);
  expect(await refusalOf((async () => enter('user 3').take(MIB))())).toEqual(BUSY);
  for (const share of [first, third]) share.leave();
  first.leave();
  enter('user 2').take(2 * MIB);
});

it.each([
  ['regex_rename', (...[operation, enter]: Given) => regexRename(operation, PATTERN, undefined, enter)],
  ['remove_empty_directory', (...[operation, enter]: Given) => removeEmptyDirectories(operation, { src_dir: '/d' }, undefined, enter)],
  ['recursive_move', (...[operation, enter]: Given) => recursiveMove(operation, FLATTENED, async () => undefined, enter)],
] as const)('%s of a long folder finds no room beside others, changes nothing then, and gives its room back', async (_verb, change) => {
  const memory = await openTree({});
  for (let number = 0; number < 1_000; number += 1) await memory.put(`/d/${number}`, '');
  await memory.makeFolder('/d/empty');
  const enter = createPlanRoom(4 * MIB);
  const other = enter('user 1000');
  other.take(2 * MIB);
  const more = enter('user 1001');
  more.take(1.75 * MIB);
  const before = await memory.everything();
  expect(await refusalOf(change(memory.operation(actor()), enter))).toEqual(BUSY);
  expect(await memory.everything()).toEqual(before);
  more.leave();
  await change(memory.operation(actor()), enter);
  expect(await memory.everything()).not.toEqual(before);
  // All of the half that the caller may have is free.
  enter(`user ${actor().id}`).take(2 * MIB);
});

type Given = [operation: Parameters<typeof regexRename>[0], enter: ReturnType<typeof createPlanRoom>];
const PATTERN = { src_dir: '/d', src_name_regex: '^(.*)$', new_name_regex: 'x$1' };
const FLATTENED = { src_dir: '/d', dst_dir: '/e', conflict_policy: '' };

it('the look for what is hidden in a tree of many folders finds no room beside others, and gives its room back', async () => {
  const memory = await openTree({ rules: [{ path: '/', hide: '^secret', h_sub: true }] });
  for (let number = 0; number < 400; number += 1) await memory.makeFolder(`/d/${number}`);
  const enter = createPlanRoom(4 * MIB);
  const others = [enter('user 1000'), enter('user 1001')];
  for (const other of others) other.take(1.9 * MIB);
  const operation = memory.operation(actor({ permission: 0xfffe }));
  const path = vpath('/d');
  const located = locate(operation.snapshot, path);
  const entry = await (await located.mount.driver()).stat(located.path, {});
  const look = () => requireNothingHidden(operation, { entry, path, located }, enter);
  expect(await refusalOf(look())).toEqual(BUSY);
  for (const other of others) other.leave();
  await look();
  enter(`user ${actor().id}`).take(2 * MIB);
});

const QUEUE = async () => undefined;
const NAMES = Array.from({ length: 300 }, (_, number) => `n${number}`);

it.each([
  ['remove', (operation, dir, enter) => removeEntries(operation, { dir, names: NAMES }, undefined, enter)],
  ['copy', (operation, dir, enter) => placeEntries(operation, placing(dir), 'copy', QUEUE, enter)],
  ['move', (operation, dir, enter) => placeEntries(operation, placing(dir), 'move', QUEUE, enter)],
  ['batch_rename', (operation, dir, enter) => batchRename(operation, { src_dir: dir, rename_objects: RENAMED }, undefined, enter)],
  ['regex_rename', (operation, dir, enter) => regexRename(operation, { ...PATTERN, src_dir: dir }, undefined, enter)],
] as const satisfies readonly Change[])('%s of a list takes room by the length of its paths, and gives it back', async (_verb, change) => {
  const memory = await openTree({});
  const deep = `/${Array.from({ length: 18 }, () => 'x'.repeat(200)).join('/')}`;
  for (const folder of ['/d', deep]) for (const name of NAMES) await memory.put(`${folder}/${name}`, '');
  const enter = createPlanRoom(4 * MIB);
  const before = await memory.everything();
  expect(await refusalOf(change(memory.operation(actor()), deep, enter))).toEqual(TOO_LONG);
  expect(await memory.everything()).toEqual(before);
  await change(memory.operation(actor()), '/d', enter);
  expect(await memory.everything()).not.toEqual(before);
  enter(`user ${actor().id}`).take(2 * MIB);
});

type Change = [verb: string, change: (operation: Given[0], dir: string, enter: Given[1]) => Promise<unknown>];
const placing = (src_dir: string) => ({ src_dir, dst_dir: '/e', names: NAMES, overwrite: false, skip_existing: false });
const RENAMED = NAMES.map((name) => ({ src_name: name, new_name: `x${name}` }));
