import { defineDriver } from '../../driver-contract/define-driver.ts';
import { sftpConfigSchema, sftpSettings } from './config.ts';
import { SftpDriver } from './driver.ts';

export const sftpDriver = defineDriver({
  name: 'SFTP',
  label: 'SFTP server',
  config: { local_sort: true, only_proxy: true, default_root: '/' },
  configSchema: sftpConfigSchema,
  limits: { names: 16, reads: 64, writes: 16 },
  open: (config, context) => SftpDriver.open(sftpSettings(config), context),
});
