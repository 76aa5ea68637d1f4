import { makeTempDir } from '@wharf/harness';
import { MOUNT_ROOT } from '@wharf/paths';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DiskPool } from './disk-pool.ts';
import { createThreadRoom, type ThreadHolder, type ThreadRoom, threadsOf } from './disk-threads.ts';

const FOREVER_MS = 2 ** 30;

describe('threads of the disk', () => {
  it('are no more than there may be in all, however many storages are asked at once, and each is answered', async () => {
    const { threads, most } = countedRoom(createThreadRoom(2, FOREVER_MS));
    const pools = await openPools(6, threads);
    const asked = [...pools, ...pools, ...pools].map((pool) => pool.call('stat', [MOUNT_ROOT]));
    expect((await Promise.all(asked)).every(Boolean)).toBe(true);
    // One that has been idle gives its thread away.
    for (const pool of pools) await pool.call('list', [MOUNT_ROOT, 0, false, false]);
    expect(most()).toBe(2);
  });

  it('are taken beyond that by who waits long for those who keep theirs, half as many more at most', async () => {
    const room = createThreadRoom(2, 1);
    const begun: number[] = [];
    const holders = [0, 1, 2, 3].map((number): ThreadHolder => ({ begin: () => begun.push(number), yieldIdle: () => {} }));
    for (const holder of holders) room.enter(holder);
    await expect.poll(() => begun).toEqual([0, 1, 2]);
    for (const holder of holders.slice(0, 3)) room.leave(holder);
    expect(begun).toEqual([0, 1, 2, 3]);
    expect(room.isWanted()).toBe(false);
  });

  it('are as many as the memory of the process has room for', () => {
    const GIB = 1024 ** 3;
    expect([GIB / 4, GIB / 2, GIB, 8 * GIB].map(threadsOf)).toEqual([4, 4, 8, 64]);
  });
});

async function openPools(count: number, threads: ThreadRoom): Promise<DiskPool[]> {
  const dir = await makeTempDir('disk-threads');
  const settings = { rootPath: dir.path, addsUpFolders: false, showsHidden: true, folderMode: 0o777, recycleBinPath: undefined };
  const pools = Array.from({ length: count }, () => new DiskPool(settings, undefined, threads));
  onTestFinished(async () => {
    await Promise.all(pools.map((pool) => pool.close()));
    await dir.remove();
  });
  await Promise.all(pools.map((pool) => pool.start(undefined)));
  return pools;
}

function countedRoom(room: ThreadRoom): { threads: ThreadRoom; most: () => number } {
  const known = new Map<ThreadHolder, ThreadHolder>();
  const held = new Set<ThreadHolder>();
  let most = 0;
  const counted = (holder: ThreadHolder): ThreadHolder => ({
    begin() {
      held.add(holder);
      most = Math.max(most, held.size);
      holder.begin();
    },
    yieldIdle: holder.yieldIdle,
  });
  const enter = (holder: ThreadHolder) => {
    known.set(holder, known.get(holder) ?? counted(holder));
    room.enter(known.get(holder) ?? holder);
  };
  const leave = (holder: ThreadHolder) => {
    held.delete(holder);
    room.leave(known.get(holder) ?? holder);
  };
  return { threads: { ...room, enter, leave }, most: () => most };
}
