import { defineDriver } from '../../driver-contract/define-driver.ts';
import { localConfigSchema, localSettings, localThumbnails } from './config.ts';
import { LocalDriver } from './driver.ts';

export const localDriver = defineDriver({
  name: 'Local',
  label: 'Local folder',
  config: { local_sort: true, only_local: true, only_proxy: true, no_cache: true, default_root: '/' },
  configSchema: localConfigSchema,
  thumbnails: localThumbnails,
  open: (config, options) => LocalDriver.open(localSettings(config), options),
});
