import { z } from 'zod';
import { boolItem, stringItem } from '../../driver-contract/config-items.ts';
import { defineDriver } from '../../driver-contract/define-driver.ts';

/** A storage that shows a folder of the tree as it is: the least that stands on another. */
export const passThrough = defineDriver({
  name: 'PassThrough',
  label: 'PassThrough',
  internal: true,
  config: { local_sort: true, only_proxy: true },
  limits: 'of others',
  configSchema: z.object({ path: stringItem({ required: true }), other_names: boolItem() }),
  open: ({ path, other_names }, context) => context.openMount(path, { keepsNames: !other_names }),
});
