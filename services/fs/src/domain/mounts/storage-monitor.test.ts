import { MOUNT_ROOT } from '@wharf/paths';
import { expect, it } from 'vitest';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import { MemoryDriver } from '../../drivers/memory/driver.ts';
import { mpath } from '../testing/memory-tree.ts';
import { refusalOf } from '../testing/refusal.ts';
import { createSchedule } from '../testing/schedule.ts';
import { createStorageMonitor } from './storage-monitor.ts';

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
