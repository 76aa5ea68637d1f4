import { defineDriver } from '../../driver-contract/define-driver.ts';
import { cryptConfigSchema, cryptSettings } from './config.ts';

export const cryptDriver = defineDriver({
  name: 'Crypt',
  label: 'Encrypted folder (rclone)',
  config: { local_sort: true, only_proxy: true, no_cache: true, default_root: '/' },
  configSchema: cryptConfigSchema,
  limits: 'of others',
  async open(config, context) {
    const settings = cryptSettings(config);
    // What encrypts is loaded with the first storage that needs it.
    const { openCrypt } = await import('./driver.ts');
    return openCrypt(settings, context);
  },
});
