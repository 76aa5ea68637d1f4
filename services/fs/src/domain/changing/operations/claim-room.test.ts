import { expect, it, onTestFinished, vi } from 'vitest';
import { storageError } from '../../../driver-contract/storage-error.ts';
import { MemoryDriver } from '../../../drivers/memory/driver.ts';
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

it('bytes of a storage that tells whole trees are added up by one listing, but where others are mounted below', async () => {
  const storages = [
    { driver: 'Memory', addition: '{"profile":"object store"}' },
    { mount_path: '/d/other', driver: 'Memory' },
  ];
  const memory = await openTree({ storages });
  for (const path of ['/d/a/1', '/d/b/c/3', '/d/other/x/4', '/e/deep/er/5']) await memory.put(path, '12345');
  const operation = memory.operation();
  const bytesIn = async (path: string, maxEntries?: number) =>
    bytesBelow(operation, { path: vpath(path), located: operation.snapshot.table.locate(vpath(path)) }, maxEntries);
  expect([await bytesIn('/'), await bytesIn('/d'), await bytesIn('/e'), await bytesIn('/none')]).toEqual([20, 15, 5, 0]);
  expect((await refusalOf(bytesIn('/e', 2)))[0]).toBe('FAILED_PRECONDITION');
});

it('a folder that cannot be listed holds nothing, and one whose storage is away, or that has too many names, is told of', async () => {
  const memory = await openTree({ storages: [{}, { mount_path: '/d/a/other' }] });
  for (const path of ['/d/a/1', '/d/a/other/2', '/d/b/3']) await memory.put(path, '12345');
  const operation = memory.operation();
  const root = { path: vpath('/d'), located: operation.snapshot.table.locate(vpath('/d')) };
  const list = MemoryDriver.prototype.list;
  let refusal = storageError('PERMISSION_DENIED');
  const spy = vi.spyOn(MemoryDriver.prototype, 'list').mockImplementation(function (this: MemoryDriver, path, options) {
    if (path === '/d/a') throw refusal;
    return list.call(this, path, options);
  });
  onTestFinished(() => spy.mockRestore());
  for (const code of ['PERMISSION_DENIED', 'INVALID_ARGUMENT', 'ENTRY_NOT_FOUND'] as const) {
    refusal = storageError(code);
    expect(await bytesBelow(operation, root)).toBe(10);
  }
  for (const code of ['STORAGE_UNAVAILABLE', 'UNSUPPORTED_OPERATION'] as const) {
    refusal = storageError(code);
    expect((await refusalOf(bytesBelow(operation, root)))[0]).toBe(code);
  }
});
