import { describe, expect, it } from 'vitest';
import { actor, openTree } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { DENIED } from '../../testing/three-storages.ts';
import { batchRename } from './batch-rename.ts';
import type { Operation } from './operation.ts';
import { placeEntries } from './place-entries.ts';
import { recursiveMove } from './recursive-move.ts';
import { regexRename } from './regex-rename.ts';
import { renameEntry } from './rename-entry.ts';

const queue = async () => {};
const MOVES: readonly (readonly [string, (operation: Operation) => Promise<unknown>])[] = [
  ['rename', (operation) => renameEntry(operation, { path: '/a/d', name: 'new', overwrite: false })],
  ['batch_rename', (operation) => batchRename(operation, { src_dir: '/a', rename_objects: [{ src_name: 'd', new_name: 'new' }] })],
  ['regex_rename', (operation) => regexRename(operation, { src_dir: '/a', src_name_regex: '^d$', new_name_regex: 'new' })],
  [
    'move',
    (operation) =>
      placeEntries(operation, { src_dir: '/a', dst_dir: '/b', names: ['d'], overwrite: false, skip_existing: false }, 'move', queue),
  ],
];
/** Each lets user 7 in. */
const GUARDS = [
  { password: 'pw', p_sub: true },
  { hide: '^nothing$' },
  { read_users: [7], read_users_sub: true },
  { write_users: [7] },
] as const;

describe.each(MOVES)('%s', (_verb, act) => {
  it.each(['/a/d', '/a/d/e'])('does not take what a rule at %s guards from under it, whoever asks', async (path) => {
    for (const guard of GUARDS) {
      const memory = await openTree({ rules: [{ path, ...(guard as object) }] });
      await memory.put('/a/d/e/f');
      expect(await refusalOf(act(memory.operation()))).toEqual(DENIED);
      expect(await refusalOf(act(memory.operation(actor({ role: 2 }))))).toEqual([
        'FAILED_PRECONDITION',
        `the path rule at ${path} would guard nothing any more: change it first`,
      ]);
      expect(await memory.everything()).toEqual(['/a/d/e/f']);
    }
  });

  it('is free where rules guard nothing, or something else', async () => {
    const memory = await openTree({
      rules: [
        { path: '/a/d', readme: 'text', write: true },
        { path: '/a/dd', password: 'pw' },
        { path: '/a', write_users: [7] },
      ],
    });
    await memory.put('/a/d/f');
    await act(memory.operation());
  });
});

it('recursive_move leaves a guarded file under its rule', async () => {
  const memory = await openTree({ rules: [{ path: '/a/d/f', password: 'pw' }] });
  for (const path of ['/a/d/f', '/a/g']) await memory.put(path);
  expect(await refusalOf(recursiveMove(memory.operation(), { src_dir: '/a', dst_dir: '/b', conflict_policy: '' }, queue))).toEqual(DENIED);
  expect(await memory.everything()).toEqual(['/a/d/f', '/a/g']);
});
