import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir } from '@wharf/harness';
import { parseEntryName } from '@wharf/paths';
import { expect, it, onTestFinished } from 'vitest';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { localDriver } from '../../drivers/local/index.ts';
import { MemoryDriver } from '../../drivers/memory/driver.ts';
import { mpath } from '../testing/memory-tree.ts';
import { removeCopy } from './remove-copy.ts';

/** A folder `/in/d` of a disk that is copied to `/out`, where its storage lists no names that begin with a dot. */
async function openCopy() {
  const temp = await makeTempDir('remove-copy');
  onTestFinished(() => temp.remove());
  const root = temp.path;
  await mkdir(join(root, 'in/d/e'), { recursive: true });
  await mkdir(join(root, 'other'));
  await mkdir(join(root, 'out'));
  for (const file of ['in/d/e/f', 'in/d/.own', 'other/kept']) await writeFile(join(root, file), file);
  await symlink('../../other', join(root, 'in/d/link'));
  const addition = JSON.stringify({ root_folder_path: root, show_hidden: false });
  const driver = (await localDriver.open(addition)) as Required<StorageDriver>;
  onTestFinished(() => driver.close());
  const made = await driver.copy(mpath('/in/d'), mpath('/out/d'), { overwrite: false, isTree: true });
  return {
    store: (file: string) => writeFile(join(root, file), 'of others'),
    takeBack: () => removeCopy({ driver, path: mpath('/out/d') }, mpath('/in/d'), made, { signal: AbortSignal.timeout(30_000) }),
    left: async (folder = 'out') => (await readdir(join(root, folder), { recursive: true })).toSorted(),
  };
}

it('a copy that is taken back goes as a whole, with what its storage does not list', async () => {
  const { takeBack, left } = await openCopy();
  await takeBack();
  expect(await left()).toEqual([]);
  expect(await left('other')).toEqual(['kept']);
});

it('what others stored in it stays, also by a name that its storage does not list', async () => {
  const { store, takeBack, left } = await openCopy();
  await store('out/d/e/.new');
  await takeBack();
  expect(await left()).toEqual(['d', 'd/e', 'd/e/.new']);
  expect(await left('other')).toEqual(['kept']);
});

it('beside what others stored, nothing that was copied stays: names that are not listed, and links', async () => {
  const { store, takeBack, left } = await openCopy();
  await store('out/d/new');
  await takeBack();
  expect(await left()).toEqual(['d', 'd/new']);
  expect(await left('other')).toEqual(['kept']);
});

it('the files of a big folder are not all compared in one turn', async () => {
  const count = 20_000;
  let [inThisTurn, most] = [0, 0];
  const compared = () => {
    if (inThisTurn === 0) setImmediate(() => (inThisTurn = 0));
    inThisTurn += 1;
    most = Math.max(most, inThisTurn);
    return 1;
  };
  const memory = new MemoryDriver();
  const traits = Object.defineProperty({ ...memory.traits }, 'modTimeStepMs', { get: compared });
  const list: MemoryDriver['list'] = async function* () {
    for (let index = 0; index < count; index += 1)
      yield { name: parseEntryName(`f${index}`), isDirectory: false, sizeBytes: 1, modifiedAt: new Date(0) };
  };
  const removed: string[] = [];
  const remove = async (path: string) => void removed.push(path);
  const driver = decorated({ ...operationsOf(memory), traits, list, remove });
  const made = await memory.makeDirectory(mpath('/out'));
  await removeCopy({ driver, path: mpath('/out') }, mpath('/in'), made, { signal: AbortSignal.timeout(60_000) });
  expect(removed).toEqual(['/out']);
  expect(most).toBeLessThan(count);
});
