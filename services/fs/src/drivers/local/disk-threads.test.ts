import { makeTempDir } from '@wharf/harness';
import { MOUNT_ROOT } from '@wharf/paths';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DiskPool } from './disk-pool.ts';
import { createDiskThreads, threadsOf } from './disk-threads.ts';

// Those of disks that hang: services/fs/test/local/hung-disk.test.ts.
describe('threads of the disk', () => {
  it('are no more than there may be in all, however many storages are asked at once, and each is answered', async () => {
    const threads = createDiskThreads(2);
    const dir = await makeTempDir('disk-threads');
    onTestFinished(() => dir.remove());
    const settings = { rootPath: dir.path, addsUpFolders: false, showsHidden: true, folderMode: 0o777, recycleBinPath: undefined };
    const pools = Array.from({ length: 6 }, () => new DiskPool(settings, undefined, threads));
    onTestFinished(async () => void (await Promise.all(pools.map((pool) => pool.close()))));
    await Promise.all(pools.map((pool) => pool.start(undefined)));
    const asked = [...pools, ...pools, ...pools].map((pool) => pool.call('stat', [MOUNT_ROOT]));
    expect((await Promise.all(asked)).every(Boolean)).toBe(true);
    expect(threads.count()).toBe(2);
    await Promise.all(pools.slice(1).map((pool) => pool.close()));
    expect(await pools[0]?.call('list', [MOUNT_ROOT, 0, false, false])).toBeDefined();
    expect(threads.count()).toBe(1);
  });

  it('are as many as the memory of the process has room for', () => {
    const GIB = 1024 ** 3;
    expect([GIB / 4, GIB / 2, GIB, 8 * GIB].map(threadsOf)).toEqual([4, 4, 8, 64]);
  });
});
