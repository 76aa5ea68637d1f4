import { defineDriver } from '../../driver-contract/define-driver.ts';
import { ftpConfigSchema } from './config.ts';
import { LANES } from './session-pool.ts';

export const ftpDriver = defineDriver({
  name: 'FTP',
  label: 'FTP server',
  config: { local_sort: true, only_proxy: true, default_root: '/' },
  configSchema: ftpConfigSchema,
  limits: LANES,
  async open(config, context) {
    const [{ FtpDriver }, { ftpSettings }] = await Promise.all([import('./driver.ts'), import('./settings.ts')]);
    return FtpDriver.open(ftpSettings(config), context);
  },
});
