import { expect, it } from 'vitest';
import { MemoryDriver } from '../drivers/memory/driver.ts';
import { decorated, operationsOf } from './complete-driver.ts';
import { at, codeOf } from './conformance/driver-calls.ts';
import { inFolder } from './in-folder.ts';
import { saidOfPart, storageError } from './storage-error.ts';

it.each([
  ['says so', saidOfPart(storageError('STORAGE_UNAVAILABLE')), 'STORAGE_UNAVAILABLE'],
  ['has nothing to list there', storageError('ENTRY_NOT_FOUND'), 'STORAGE_UNAVAILABLE'],
  ['lists what is above', undefined, 'ENTRY_NOT_FOUND'],
  ['lets nobody list what is above', storageError('PERMISSION_DENIED'), 'ENTRY_NOT_FOUND'],
] as const)('a folder that a gateway does not have, where the gateway %s, is away or missing', async (_, refusal, code) => {
  const gateway = new MemoryDriver();
  await gateway.makeDirectory(at('/disk'));
  const driver = decorated({
    ...operationsOf(gateway),
    stat: (path, options) =>
      gateway.stat(path, options).catch(() => {
        throw saidOfPart(storageError('ENTRY_NOT_FOUND'));
      }),
    async *list(path, options) {
      if (refusal) throw refusal;
      yield* gateway.list(path, options);
    },
  });
  for (const folder of ['/disk/folder', '/disk/team/folder'])
    expect(await codeOf(inFolder(driver, at(folder), () => undefined).stat(at('/')))).toBe(code);
});
