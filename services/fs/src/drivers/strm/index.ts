import { defineDriver } from '../../driver-contract/define-driver.ts';
import { strmConfigSchema, strmSettings } from './config.ts';
import { openStrm } from './driver.ts';

export const strmDriver = defineDriver({
  name: 'Strm',
  label: 'Media of the tree as .strm files',
  config: { local_sort: true, only_proxy: true, no_cache: true, no_upload: true, default_root: '/' },
  configSchema: strmConfigSchema,
  limits: 'of others',
  open: (config, context) => openStrm(strmSettings(config, context.site.url), context),
});
