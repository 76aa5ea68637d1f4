import { defineDriver } from '../../driver-contract/define-driver.ts';
import { ftpConfigSchema, ftpSettings } from './config.ts';
import { FtpDriver } from './driver.ts';
import { LANES } from './session-pool.ts';

export const ftpDriver = defineDriver({
  name: 'FTP',
  label: 'FTP server',
  config: { local_sort: true, only_proxy: true, default_root: '/' },
  configSchema: ftpConfigSchema,
  limits: LANES,
  open: (config, context) => FtpDriver.open(ftpSettings(config), context),
});
