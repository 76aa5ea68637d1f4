import { makeTempDir } from '@wharf/harness';
import { MOUNT_ROOT } from '@wharf/paths';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DiskPool } from './disk-pool.ts';
import { createDiskThreads, type DiskThreads, type ThreadPlace, threadsOf } from './disk-threads.ts';

describe('threads of the disk', () => {
  it('are no more than there may be in all, however many storages are asked at once, and each is answered', async () => {
    const threads = createDiskThreads(2);
    const pools = await openPools(6, threads);
    const asked = [...pools, ...pools, ...pools].map((pool) => pool.call('stat', [MOUNT_ROOT]));
    expect((await Promise.all(asked)).every(Boolean)).toBe(true);
    expect(threads.count()).toBe(2);
    await Promise.all(pools.slice(1).map((pool) => pool.close()));
    expect(await pools[0]?.call('list', [MOUNT_ROOT, 0, false, false])).toBeDefined();
    expect(threads.count()).toBe(1);
  });

  it('of which some hang are more, up to twice as many, and nobody else goes to one that hangs while another answers', async () => {
    const threads = createDiskThreads(2);
    const join = await joinerOf(threads);
    const hanging = Array.from({ length: 6 }, () => join(60_000));
    expect(threads.count()).toBe(6);
    expect(join(60_000).port).toBeDefined();
    expect(threads.count()).toBe(6);
    await Promise.all(hanging.slice(1).map(({ leave }) => leave()));
    const [one, other, third] = [join(0), join(0), join(0)];
    const counts = [threads.count()];
    for (const { leave } of [one, other, third]) {
      await leave();
      counts.push(threads.count());
    }
    // Of three who answer two share a thread; none of them keeps one that hangs.
    expect(counts.at(0)).toBe((counts.at(-1) ?? 0) + 2);
  });

  it('serve further calls of one storage by threads of their own as long as half of all are free', async () => {
    const threads = createDiskThreads(4);
    const join = await joinerOf(threads);
    for (const isFirst of [true, false, false, false]) join(1, isFirst);
    expect(threads.count()).toBe(2);
  });

  it('are as many as the memory of the process has room for', () => {
    const GIB = 1024 ** 3;
    expect([GIB / 4, GIB / 2, GIB, 8 * GIB].map(threadsOf)).toEqual([4, 4, 8, 64]);
  });
});

async function settingsOf() {
  const dir = await makeTempDir('disk-threads');
  onTestFinished(() => dir.remove());
  return { rootPath: dir.path, addsUpFolders: false, showsHidden: true, folderMode: 0o777, recycleBinPath: undefined };
}

async function joinerOf(threads: DiskThreads): Promise<(stuckMs: number, isFirst?: boolean) => ThreadPlace> {
  const settings = await settingsOf();
  const places: ThreadPlace[] = [];
  onTestFinished(async () => void (await Promise.all(places.map(({ leave }) => leave()))));
  return (stuckMs, isFirst = true) => {
    const place = threads.join(settings, { stuckMs: () => stuckMs, onEnd: () => undefined }, isFirst);
    places.push(place);
    return place;
  };
}

async function openPools(count: number, threads: DiskThreads): Promise<DiskPool[]> {
  const settings = await settingsOf();
  const pools = Array.from({ length: count }, () => new DiskPool(settings, undefined, threads));
  onTestFinished(async () => void (await Promise.all(pools.map((pool) => pool.close()))));
  await Promise.all(pools.map((pool) => pool.start(undefined)));
  return pools;
}
