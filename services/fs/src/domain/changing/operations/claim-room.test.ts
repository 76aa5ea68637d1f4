import { expect, it } from 'vitest';
import { openTree, vpath } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { bytesBelow } from './claim-room.ts';

it('bytes are added up over folders and storages, of a tree that ends', async () => {
  const memory = await openTree({ storages: [{}, { mount_path: '/d/other' }] });
  for (const path of ['/d/a/1', '/d/a/2', '/d/b/c/3', '/d/other/x/4', '/e/5']) await memory.put(path, '12345');
  const operation = memory.operation();
  const root = { path: vpath('/d'), located: operation.snapshot.table.locate(vpath('/d')) };
  expect(await bytesBelow(operation, root, 8)).toBe(20);
  expect((await refusalOf(bytesBelow(operation, root, 7)))[0]).toBe('FAILED_PRECONDITION');
});
