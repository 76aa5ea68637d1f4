import { defineDriver } from '../../driver-contract/define-driver.ts';
import { s3ConfigSchema, s3Settings } from './config.ts';

export const s3Driver = defineDriver({
  name: 'S3',
  label: 'S3 bucket',
  config: { local_sort: true, default_root: '/' },
  configSchema: s3ConfigSchema,
  limits: { names: 32, reads: 64, writes: 16 },
  async open(config, context) {
    const settings = s3Settings(config);
    // What signs and reads XML is loaded with the first storage that needs it.
    const { S3Driver } = await import('./driver.ts');
    return S3Driver.open(settings, context);
  },
});
