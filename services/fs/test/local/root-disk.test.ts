import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isAvailable, mountFoldingDisk, runCommand } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { at, codeOf, type LocalStorage, makeFolders, namesIn, openLocal, put, textOf } from './open-local.ts';
import { mountSmallDisk, mounts } from './small-disk.ts';

async function run(command: string, ...args: string[]) {
  const { code, stderr } = await runCommand(command, args);
  expect(code, stderr).toBe(0);
}

/** Everything that reads or changes a storage, and how it ends. */
async function callsOf(storage: LocalStorage): Promise<string[]> {
  const calls = [
    namesIn(storage, '/'),
    namesIn(storage, '/folder'),
    storage.stat(at('/')),
    storage.stat(at('/folder/file')),
    textOf(storage, '/folder/file'),
    put(storage, '/new', 'text'),
    put(storage, '/folder/new', 'text'),
    storage.makeDirectory(at('/made')),
    storage.rename(at('/folder'), at('/other'), { overwrite: false }),
    storage.remove(at('/folder'), { recursive: true }),
    storage.copy(at('/folder/file'), at('/copy'), { overwrite: false }),
    storage.openDraft(at('/draft'), '0'.repeat(32), { create: true }),
  ];
  return Promise.all(calls.map(codeOf));
}

it.skipIf(!mounts).each(['', '/photos/of/2026'])(
  'while the disk of a root is away nothing is stored, removed or gone: it was mounted above "%s"',
  async (below) => {
    const { root } = await makeFolders();
    await mountSmallDisk(root, 2);
    const place = root + below;
    await mkdir(place, { recursive: true });
    const storage = await openLocal(place);
    await storage.makeDirectory(at('/folder'));
    await put(storage, '/folder/file', 'text');
    // It is not held: whoever uses the machine takes it away.
    await run('umount', root);
    expect(new Set(await callsOf(storage))).toEqual(new Set(['STORAGE_UNAVAILABLE']));
    await mkdir(path.join(place, 'folder'), { recursive: true });
    await writeFile(path.join(place, 'folder/file'), 'of the machine');
    expect(new Set(await callsOf(storage))).toEqual(new Set(['STORAGE_UNAVAILABLE']));
    expect(await readdir(place, { recursive: true })).toEqual(['folder', 'folder/file']);

    await mountSmallDisk(root, 2);
    await mkdir(place, { recursive: true });
    await put(storage, '/file', 'on another disk');
    expect(await namesIn(storage, '/')).toEqual(['file']);
    expect(await readdir(place)).toEqual(['file']);
  },
);

it.skipIf(!mounts)('a disk that is mounted at the root, or below it, is a part of the storage', async () => {
  const { root } = await makeFolders();
  const storage = await openLocal(root);
  await put(storage, '/file', 'of the machine');
  await storage.makeDirectory(at('/below'));
  await mountSmallDisk(path.join(root, 'below'), 2);
  await put(storage, '/below/file', 'text');
  expect(await textOf(storage, '/below/file')).toBe('text');
  await mountSmallDisk(root, 2);
  await put(storage, '/other', 'text');
  expect(await namesIn(storage, '/')).toEqual(['other']);
  await run('umount', root);
  expect(await codeOf(put(storage, '/third', 'text'))).toBe('STORAGE_UNAVAILABLE');
});

const folding = await mountFoldingDisk();

it.skipIf(!mounts || !isAvailable('folding-disk', folding))(
  'on another disk that does not tell A from a, entries have one name each, though the first one did',
  async () => {
    if (!isAvailable('folding-disk', folding)) return;
    onTestFinished(() => folding.remove());
    const { root } = await makeFolders();
    await mountSmallDisk(root, 2);
    const storage = await openLocal(root);
    await put(storage, '/first', 'text');
    await run('umount', root);
    await run('mount', '--bind', folding.path, root);
    onTestFinished(() => runCommand('umount', ['--lazy', root]).then(() => undefined));
    await writeFile(path.join(root, 'secret'), 'text');
    expect(await codeOf(textOf(storage, '/SECRET'))).not.toBe('done');
    expect(await codeOf(textOf(storage, '/SECRET'))).toBe('ENTRY_NOT_FOUND');
    expect(await textOf(storage, '/secret')).toBe('text');
  },
);
