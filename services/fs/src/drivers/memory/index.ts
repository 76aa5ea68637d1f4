import { z } from 'zod';
import { defineDriver } from '../../driver-contract/define-driver.ts';
import { MemoryDriver } from './driver.ts';

export const memoryDriver = defineDriver({
  name: 'Memory',
  label: 'Memory',
  internal: true,
  config: { local_sort: true, only_proxy: true, no_cache: true },
  configSchema: z.object({}),
  open: async () => new MemoryDriver(),
});
