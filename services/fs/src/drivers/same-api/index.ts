import { defineDriver } from '../../driver-contract/define-driver.ts';
import { sameApiConfigSchema, sameApiSettings } from './config.ts';

/** The family has it under the names of two of its servers; what they answer is the same as far as it is used. */
const named = (name: string, label: string) =>
  defineDriver({
    name,
    label,
    config: { local_sort: true, default_root: '/' },
    hasRangeOption: true,
    configSchema: sameApiConfigSchema,
    limits: { names: 16, reads: 32, writes: 8 },
    async open(config, context) {
      const settings = sameApiSettings(config);
      const { SameApiDriver } = await import('./driver.ts');
      return SameApiDriver.open(settings, context);
    },
  });

export const openListDriver = named('OpenList', 'Another gateway: Wharf, OpenList');
export const alistDriver = named('AList V3', 'Another gateway: AList');
