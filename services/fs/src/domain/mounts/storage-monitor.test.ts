import { MOUNT_ROOT } from '@wharf/paths';
import { expect, it } from 'vitest';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import { heldWhileOpen } from '../../driver-contract/while-open.ts';
import { withLimits } from '../../driver-contract/with-limits.ts';
import { MemoryDriver } from '../../drivers/memory/driver.ts';
import { mpath } from '../testing/memory-tree.ts';
import { refusalOf } from '../testing/refusal.ts';
import { createSchedule } from '../testing/schedule.ts';
import { createStorageMonitor } from './storage-monitor.ts';

/** Of a storage with a server of its own, whose clock stands still, and which nobody is told of. */
const quietMonitor = () =>
  createStorageMonitor({
    standsOnOthers: () => false,
    clock: () => 0,
    after: () => () => undefined,
    onCall: () => undefined,
    onBreaker: () => undefined,
  });

it('a storage that hangs is refused, however many wait for their turn there: the look waits until it has its own', async () => {
  const memory = new MemoryDriver();
  const hanging: (() => void)[] = [];
  const driver = decorated({
    ...operationsOf(memory),
    stat: () => new Promise((_, reject) => hanging.push(() => reject(storageError('STORAGE_UNAVAILABLE')))),
  });
  const monitor = quietMonitor();
  const watched = monitor.watch(withLimits(driver, { names: 1, reads: 1, writes: 1 }, 1), () => () => undefined);
  const ask = (caller: string) => refusalOf(watched.stat(mpath('/file'), { caller, isPatient: true }));
  const end = async () => {
    await expect.poll(() => hanging.length).toBe(1);
    hanging.pop()?.();
  };
  for (let time = 0; time < 2; time += 1) await Promise.all([ask('a'), end()]);
  const [third, another] = [ask('a'), ask('b')];
  await Promise.all([third, end()]);
  // Whoever comes after the look, and is not patient, has given up by then.
  expect((await refusalOf(watched.stat(mpath('/file'), { caller: 'c' })))[0]).toBe('OVERLOADED');
  for (let time = 0; time < 2; time += 1) await end();
  await expect.poll(() => monitor.breaker).toBe('open');
  await another;
  monitor.stop();
});

it('the look before calls are refused waits for its turn as they do: who takes all turns of a storage makes it no storage that is away', async () => {
  let now = 0;
  const later = createSchedule(() => now);
  const looks: boolean[] = [];
  const memory = new MemoryDriver();
  const driver = decorated({
    ...operationsOf(memory),
    async stat(path, options) {
      if (path === MOUNT_ROOT) looks.push(options?.signal === undefined);
      throw storageError('STORAGE_UNAVAILABLE');
    },
  });
  const monitor = createStorageMonitor({
    standsOnOthers: () => false,
    clock: () => now,
    after: later.after,
    onCall: () => undefined,
    onBreaker: () => undefined,
  });
  const watched = monitor.watch(driver, () => () => undefined);
  for (let time = 0; time < 3; time += 1) await refusalOf(watched.stat(mpath('/file')));
  await expect.poll(() => monitor.breaker).toBe('open');
  now += 1_000;
  later.run();
  await expect.poll(() => monitor.breaker).toBe('open');
  expect(looks).toEqual([true, false]);
  monitor.stop();
});

it('the look is no part of the call that failed last, which may hold what it would wait for', async () => {
  const looks: unknown[] = [];
  const driver = decorated({
    ...operationsOf(new MemoryDriver()),
    async stat(path) {
      if (path === MOUNT_ROOT) looks.push(heldWhileOpen.getStore());
      throw storageError('STORAGE_UNAVAILABLE');
    },
  });
  const monitor = quietMonitor();
  const watched = monitor.watch(driver, () => () => undefined);
  for (let time = 0; time < 3; time += 1) await heldWhileOpen.run(new Map(), () => refusalOf(watched.stat(mpath('/file'))));
  await expect.poll(() => monitor.breaker).toBe('open');
  expect(looks).toEqual([undefined]);
  monitor.stop();
});
