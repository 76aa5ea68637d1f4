import type { MountPath } from '@wharf/paths';
import type { DriverDefinition } from '../../driver-contract/define-driver.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { memoryDriver } from '../../drivers/memory/index.ts';

/** A storage in which something happens at the moment when it is about to move or copy an entry. */
export const lateDriver = (before: (driver: Required<StorageDriver>, from: MountPath) => Promise<void>): DriverDefinition => ({
  ...memoryDriver,
  name: 'Late',
  async open(addition, context) {
    const driver = (await memoryDriver.open(addition, context)) as Required<StorageDriver>;
    const late =
      (act: Required<StorageDriver>['rename']): Required<StorageDriver>['rename'] =>
      async (from, to, options) => {
        await before(driver, from);
        // As a server does that has begun with it.
        return act(from, to, { ...options, signal: undefined });
      };
    return Object.assign(driver, { rename: late(driver.rename.bind(driver)), copy: late(driver.copy.bind(driver)) });
  },
});
