import { defineDriver } from '../../driver-contract/define-driver.ts';
import { virtualConfigSchema, virtualSettings } from './config.ts';
import { VirtualDriver } from './driver.ts';

export const virtualDriver = defineDriver({
  name: 'Virtual',
  label: 'Made-up files',
  config: { local_sort: true, only_proxy: true, need_ms: true, no_upload: true },
  configSchema: virtualConfigSchema,
  open: async (config, { storageId }) => new VirtualDriver(virtualSettings(config), storageId),
});
