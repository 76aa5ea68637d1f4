import { expect, it } from 'vitest';
import { walkTree } from '../../../driver-contract/walk-tree.ts';
import { virtualDriver } from '../../../drivers/virtual/index.ts';
import { actor, type MemoryTree, openTree, vpath } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { batchRename } from './batch-rename.ts';
import { bytesBelow } from './claim-room.ts';
import { type Operation, open } from './operation.ts';
import { placeEntries } from './place-entries.ts';
import { recursiveMove } from './recursive-move.ts';
import { removeEmptyDirectories } from './remove-empty-directories.ts';

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

/** Some ninety thousand folders, each of which is listed without waiting for anything. */
const made = {
  mount_path: '/made',
  driver: 'Virtual',
  addition: JSON.stringify({ num_folder: 4, num_file: 1, max_file_size: 1, min_file_size: 1 }),
};
const locatedAt = ({ snapshot }: Operation) => ({ path: vpath('/made'), located: snapshot.table.locate(vpath('/made')) });
const walks: [string, (operation: Operation) => Promise<unknown>][] = [
  ['removing empty folders', (operation) => removeEmptyDirectories(operation, { src_dir: '/made' })],
  ['moving all files', (operation) => recursiveMove(operation, { src_dir: '/made', dst_dir: '/', conflict_policy: '' }, async () => {})],
  ['counting for a quota', (operation) => bytesBelow(operation, locatedAt(operation))],
  [
    'a walk through a storage',
    async (operation) => {
      const { located } = locatedAt(operation);
      if (!located) throw new Error('nothing is mounted');
      const { driver, path } = await open(located);
      for await (const _ of walkTree(driver, path, { signal: operation.signal }));
    },
  ],
];

it.each(walks)('%s, of folders that cost no waiting, leaves room for others, and ends with its caller', async (_walk, run) => {
  const tree = await openTree({ storages: [{}, made], drivers: [virtualDriver] });
  const gone = new AbortController();
  setImmediate(() => gone.abort());
  expect((await refusalOf(run(tree.operation(actor(), gone.signal))))[0]).toBe('CANCELLED');
});
