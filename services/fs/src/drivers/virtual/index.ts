import { defineDriver } from '../../driver-contract/define-driver.ts';
import { virtualConfigSchema, virtualSettings } from './config.ts';
import { VirtualDriver } from './driver.ts';

export const virtualDriver = defineDriver({
  name: 'Virtual',
  label: 'Made-up files',
  config: { local_sort: true, only_proxy: true, need_ms: true, no_upload: true },
  configSchema: virtualConfigSchema,
  // Nothing is behind it, but what is made up takes room and time as what comes from elsewhere.
  limits: { names: 16, reads: 64, writes: 1 },
  open: async (config, { storageId }) => new VirtualDriver(virtualSettings(config), storageId),
});
