import fs from 'node:fs';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { createDiskOperations } from '../../src/drivers/local/disk-operations.ts';
import { FolderChain } from '../../src/drivers/local/folder-chain.ts';
import { at, makeFolders } from './open-local.ts';

const NEVER = new AbortController().signal;

/** A tree of folders in each other, a file in each, deeper than one path can say. */
function makeDeep(root: string, name: string, levels: number): void {
  let top = path.join(root, name);
  fs.mkdirSync(top);
  fs.writeFileSync(path.join(top, 'file'), '12');
  for (let level = 1; level < levels; level += 1) {
    const above = path.join(root, `${name}-above`);
    fs.mkdirSync(above);
    fs.writeFileSync(path.join(above, 'file'), '12');
    fs.renameSync(top, path.join(above, 'd'));
    fs.renameSync(above, top);
    top = path.join(root, name);
  }
}

/** The handles that are open at most while something runs. */
async function mostHandles(run: () => Promise<unknown>): Promise<number> {
  const [openSync, closeSync] = [fs.openSync, fs.closeSync];
  let [open, most] = [0, 0];
  vi.spyOn(fs, 'openSync').mockImplementation((...call) => {
    const fd = openSync(...call);
    open += 1;
    most = Math.max(most, open);
    return fd;
  });
  vi.spyOn(fs, 'closeSync').mockImplementation((fd) => {
    open -= 1;
    closeSync(fd);
  });
  try {
    await run();
    expect(open).toBe(0);
    return most;
  } finally {
    vi.restoreAllMocks();
  }
}

it('of a tree as many handles are open however deep it is, and all of it is copied, moved, added up and removed', async () => {
  const { root } = await makeFolders();
  const disk = createDiskOperations({
    ...{ rootPath: root, addsUpFolders: false, showsHidden: true, folderMode: 0o777, recycleBinPath: undefined },
    ...{ names: { caseSensitive: true, folds: false } },
  });
  fs.mkdirSync(path.join(root, 'other'));
  const handles = { copy: [] as number[], move: [] as number[], sum: [] as number[], remove: [] as number[] };
  for (const levels of [100, 200, 400]) {
    makeDeep(root, `deep-${levels}`, levels);
    const [deep, copy, moved] = [at(`/deep-${levels}`), at(`/copy-${levels}`), at(`/other/deep-${levels}`)];
    handles.copy.push(await mostHandles(() => disk.copy(NEVER, deep, copy, false)));
    handles.move.push(await mostHandles(() => disk.rename(NEVER, deep, moved, false)));
    handles.sum.push(await mostHandles(async () => expect(await disk.addUp(NEVER, moved)).toBe(2 * levels)));
    expect(await disk.addUp(NEVER, copy)).toBe(2 * levels);
    handles.remove.push(await mostHandles(() => disk.remove(NEVER, moved, true)));
    await disk.remove(NEVER, copy, true);
  }
  for (const [first, ...others] of Object.values(handles)) expect(others).toEqual([first, first]);
  expect(fs.readdirSync(root)).toEqual(['other']);
  expect(fs.readdirSync(path.join(root, 'other'))).toEqual([]);
});

it('a folder that is moved while a walk is deep in it is not taken for where it was', async () => {
  const { root } = await makeFolders();
  makeDeep(root, 'deep', 100);
  fs.mkdirSync(path.join(root, 'other'));
  const chain = new FolderChain();
  const down = (left: number): Promise<void> =>
    chain.within(Buffer.from(left === 90 ? path.join(root, 'deep') : 'd'), async () => {
      if (left > 0) return down(left - 1);
      fs.renameSync(path.join(root, 'deep/d/d'), path.join(root, 'other/d'));
    });
  const open = await mostHandles(async () => {
    await down(90);
    expect(() => chain.prefix).toThrow(expect.objectContaining({ code: 'STALE_VERSION' }));
  });
  expect(open).toBeLessThan(50);
});
