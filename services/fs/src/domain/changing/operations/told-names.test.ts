import { expect, it } from 'vitest';
import { vpath } from '../../testing/memory-tree.ts';
import { moveEntries } from '../../testing/place-at-once.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { DENIED, openStorages, without } from '../../testing/three-storages.ts';
import { checkTarget } from '../../writes/check-target.ts';
import { removeEntries } from './remove-entries.ts';
import { renameEntry } from './rename-entry.ts';

/** A storage, a file, a folder and nothing, which a rule hides. */
const NAMES = ['hidden-storage', 'hidden-file', 'hidden-folder', 'hidden-none'];

async function opened() {
  const memory = await openStorages({
    storages: [
      { mount_path: '/a', driver: 'Memory' },
      { mount_path: '/a/hidden-storage', driver: 'Memory' },
    ],
    rules: [{ path: '/a', hide: '^hidden-' }],
  });
  for (const path of ['/a/hidden-file', '/a/hidden-folder/in', '/a/open/f']) await memory.put(path);
  return memory.operation(without('see_hides'));
}

it('a refusal tells nobody which hidden names are there, or are storages', async () => {
  const operation = await opened();
  for (const name of NAMES) {
    expect(await refusalOf(removeEntries(operation, { dir: '/a', names: [name] })), name).toEqual(DENIED);
    expect(await refusalOf(renameEntry(operation, { path: `/a/${name}`, name: 'new', overwrite: false })), name).toEqual(DENIED);
    const placement = { src_dir: '/a', dst_dir: '/a/open', names: [name], overwrite: false, skip_existing: false, merge: false };
    expect(await refusalOf(moveEntries(operation, placement)), name).toEqual(DENIED);
  }
});

it('who may have files brought to folders is not told by that which hidden names are files, or are storages', async () => {
  const operation = await opened();
  for (const name of [...NAMES, 'hidden-folder/in', 'hidden-folder/none'])
    expect(await refusalOf(checkTarget(operation, vpath(`/a/${name}`))), name).toEqual(DENIED);
  await expect(checkTarget(operation, vpath('/a/open/f'))).rejects.toMatchObject({ code: 'NOT_A_DIRECTORY' });
});

it('nor where no storage is above them', async () => {
  const rules = [{ path: '/', hide: '^hidden-' }];
  const memory = await openStorages({ storages: [{ mount_path: '/hidden-storage' }, { mount_path: '/hidden-above/s' }], rules });
  const operation = memory.operation(without('see_hides'));
  for (const name of ['hidden-storage', 'hidden-above', 'hidden-none'])
    expect(await refusalOf(checkTarget(operation, vpath(`/${name}`))), name).toEqual(DENIED);
});

it('a folder that its rule alone keeps from being read takes what is brought to it', async () => {
  const memory = await openStorages({ rules: [{ path: '/a/in', read_users: [4_711], read_users_sub: false }] });
  await memory.put('/a/in/f');
  await expect(checkTarget(memory.operation(without('see_hides')), vpath('/a/in'))).resolves.toBeDefined();
});
