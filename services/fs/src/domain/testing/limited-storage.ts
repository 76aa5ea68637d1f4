import { z } from 'zod';
import { defineDriver } from '../../driver-contract/define-driver.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { openTree } from './memory-tree.ts';

/** A tree of one storage that bears so much at once. */
export function openLimited(store: StorageDriver, { names = 4, reads = 4, writes = 4 } = {}) {
  const definition = defineDriver({
    name: 'Limited',
    label: 'Limited',
    configSchema: z.object({}),
    limits: { names, reads, writes },
    open: async () => store,
  });
  return openTree({ drivers: [definition], storages: [{ driver: 'Limited' }] });
}
