import { expect, it } from 'vitest';
import { actor, type MemoryTree, openTree } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { batchRename } from './batch-rename.ts';
import type { Operation } from './operation.ts';
import { placeEntries } from './place-entries.ts';
import { recursiveMove } from './recursive-move.ts';

const COUNT = 3_000;
const NAMES = Array.from({ length: COUNT }, (_, index) => `${index} ${'é'.repeat(100)}`);

/** Files by the thousand in storages that answer without a turn of the event loop. */
async function openCrowd(): Promise<MemoryTree> {
  const memory = await openTree({ storages: [{}, { mount_path: '/other' }] });
  for (const name of NAMES) await memory.put(`/d/${name}`, '');
  return memory;
}

/** Each name goes to its neighbour, and the other way round. */
const swaps = NAMES.map((src_name, index) => ({ src_name, new_name: NAMES[index ^ 1] ?? '' }));
const works: [string, (operation: Operation) => Promise<unknown>][] = [
  ['batch_rename', (operation) => batchRename(operation, { src_dir: '/d', rename_objects: swaps })],
  ['recursive_move', (operation) => recursiveMove(operation, { src_dir: '/d', dst_dir: '/other', conflict_policy: '' }, async () => {})],
  [
    'copy',
    (operation) =>
      placeEntries(
        operation,
        { src_dir: '/d', dst_dir: '/other', names: NAMES, overwrite: false, skip_existing: false },
        'copy',
        async () => {},
      ),
  ],
];

it.each(works)('%s of thousands leaves room for others, and ends with its caller', async (_verb, work) => {
  const memory = await openCrowd();
  const gone = new AbortController();
  setImmediate(() => gone.abort());
  expect((await refusalOf(work(memory.operation(actor(), gone.signal))))[0]).toBe('CANCELLED');
});
