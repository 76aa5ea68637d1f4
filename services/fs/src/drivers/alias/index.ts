import { defineDriver } from '../../driver-contract/define-driver.ts';
import { aliasConfigSchema, aliasSettings } from './config.ts';
import { openAlias } from './driver.ts';

export const aliasDriver = defineDriver({
  name: 'Alias',
  label: 'Folders of the tree as one',
  config: { local_sort: true, no_cache: true, default_root: '/' },
  hasRangeOption: true,
  configSchema: aliasConfigSchema,
  limits: 'of others',
  open: (config, context) => openAlias(aliasSettings(config), context),
});
