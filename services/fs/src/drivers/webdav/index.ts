import { defineDriver } from '../../driver-contract/define-driver.ts';
import { webdavConfigSchema, webdavSettings } from './config.ts';

export const webdavDriver = defineDriver({
  name: 'WebDav',
  label: 'WebDAV server',
  config: { local_sort: true, prefer_proxy: true, default_root: '/' },
  configSchema: webdavConfigSchema,
  limits: { names: 16, reads: 32, writes: 8 },
  async open(config, context) {
    const settings = webdavSettings(config);
    // What reads XML is loaded with the first storage that needs it.
    const { WebdavDriver } = await import('./driver.ts');
    return WebdavDriver.open(settings, context);
  },
});
