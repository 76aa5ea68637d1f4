import { defineDriver } from '../../driver-contract/define-driver.ts';
import { urlTreeConfigSchema } from './config.ts';
import { UrlTreeDriver } from './driver.ts';
import { parseUrlTree } from './parse-url-tree.ts';

export const urlTreeDriver = defineDriver({
  name: 'UrlTree',
  label: 'Addresses as files',
  config: { local_sort: true, no_cache: true, no_upload: true, only_indices: true },
  configSchema: urlTreeConfigSchema,
  limits: { names: 16, reads: 64, writes: 1 },
  open: async ({ url_structure, head_size }, { egress }) => new UrlTreeDriver(parseUrlTree(url_structure), head_size, egress.toPublic()),
});
