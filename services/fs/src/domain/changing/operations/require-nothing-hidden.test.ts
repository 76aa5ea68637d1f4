import { describe, expect, it } from 'vitest';
import { actor, type MemoryTree, openTree } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { DENIED } from '../../testing/three-storages.ts';
import { batchRename } from './batch-rename.ts';
import type { Operation } from './operation.ts';
import { placeEntries } from './place-entries.ts';
import { regexRename } from './regex-rename.ts';
import { removeEntries } from './remove-entries.ts';
import { renameEntry } from './rename-entry.ts';

const place = (names: string[], dst_dir: string, overwrite = false) => ({ src_dir: '/a', dst_dir, names, overwrite, skip_existing: false });

/** What goes to another storage is done by tasks; here only the checks count. */
const queue = async () => {};

/** Everything that may happen to a folder as a whole. */
const OPERATIONS: readonly (readonly [string, (operation: Operation, name: string) => Promise<unknown>])[] = [
  ['rename', (operation, name) => renameEntry(operation, { path: `/a/${name}`, name: 'new', overwrite: false })],
  ['batch_rename', (operation, name) => batchRename(operation, { src_dir: '/a', rename_objects: [{ src_name: name, new_name: 'new' }] })],
  ['regex_rename', (operation, name) => regexRename(operation, { src_dir: '/a', src_name_regex: `^${name}$`, new_name_regex: 'new' })],
  ['move', (operation, name) => placeEntries(operation, place([name], '/b'), 'move', queue)],
  ['copy', (operation, name) => placeEntries(operation, place([name], '/b'), 'copy', queue)],
  ['remove', (operation, name) => removeEntries(operation, { dir: '/a', names: [name] })],
];

const blind = actor({ permission: 0xfffe });
const HIDING = [
  ['a rule above, with h_sub', { path: '/', hide: '^secret', h_sub: true }],
  ['a rule at the folder', { path: '/a/d', hide: '^secret', h_sub: true }],
  ['a rule in it', { path: '/a/d/e', hide: '^secret' }],
] as const;

describe.each(OPERATIONS)('C16: %s of a folder', (_verb, act) => {
  const open = async (rule: (typeof HIDING)[number][1]): Promise<MemoryTree> => {
    const memory = await openTree({ storages: [{ mount_path: '/a' }, { mount_path: '/b' }], rules: [rule] });
    for (const path of ['/a/d/e/secret.txt', '/a/d/f', '/a/plain/f']) await memory.put(path);
    return memory;
  };

  it.each(HIDING)('with something in it that %s hides is refused', async (_what, rule) => {
    const memory = await open(rule);
    const before = await memory.everything();
    expect(await refusalOf(act(memory.operation(blind), 'd'))).toEqual(DENIED);
    expect(await memory.everything()).toEqual(before);
    await act(memory.operation(blind), 'plain');
  });

  it('is for whoever sees it', async () => {
    const [[, rule]] = HIDING;
    await act((await open(rule)).operation(actor()), 'd');
    await act((await open(rule)).operation(actor({ role: 2, permission: 0 })), 'd');
  });

  it('is not troubled by a rule that reaches no deeper, or hides elsewhere', async () => {
    for (const rule of [
      { path: '/a', hide: '^secret' },
      { path: '/b/x', hide: '.', h_sub: true },
    ])
      await act((await open(rule as never)).operation(blind), 'd');
  });
});

it('what would be hidden where it goes is not put there: it could replace what the caller does not see', async () => {
  const memory = await openTree({
    storages: [{ mount_path: '/a' }, { mount_path: '/b' }],
    rules: [{ path: '/b', hide: '^secret', h_sub: true }],
  });
  await memory.put('/a/d/secret', 'new');
  await memory.put('/b/d/secret', 'old');
  for (const verb of ['move', 'copy'] as const)
    expect(await refusalOf(placeEntries(memory.operation(blind), place(['d'], '/b', true), verb, queue))).toEqual(DENIED);
  expect(await memory.textOf('/b/d/secret')).toBe('old');
});

it('what is replaced is changed, and asks for as much', async () => {
  const memory = await openTree({
    storages: [{ mount_path: '/a' }, { mount_path: '/b' }],
    rules: [{ path: '/b/f', password: 'pw' }],
  });
  await memory.put('/a/f', 'new');
  await memory.put('/b/f', 'old');
  const untrusted = actor({ permission: 0xfffd });
  for (const verb of ['move', 'copy'] as const)
    expect(await refusalOf(placeEntries(memory.operation(untrusted), place(['f'], '/b', true), verb, queue))).toEqual(DENIED);
  expect(await memory.textOf('/b/f')).toBe('old');
});
