import { defineDriver } from '../../driver-contract/define-driver.ts';
import { rcloneConfigSchema, remoteSettings, smbConfigSchema, smbSettings } from './config.ts';

export const smbDriver = defineDriver({
  name: 'SMB',
  label: 'SMB share (Windows, Samba)',
  config: { local_sort: true, only_proxy: true, no_cache: true, default_root: '.' },
  configSchema: smbConfigSchema,
  limits: { names: 16, reads: 32, writes: 16 },
  async open(config, context) {
    const settings = smbSettings(config);
    const [{ RcloneDriver }, { smbStorage }] = await Promise.all([import('./driver.ts'), import('./smb.ts')]);
    return RcloneDriver.open(smbStorage(settings), context);
  },
});

export const rcloneDriver = defineDriver({
  name: 'Rclone',
  label: 'Any other, by rclone',
  config: { local_sort: true, only_proxy: true, default_root: '/' },
  configSchema: rcloneConfigSchema,
  limits: { names: 8, reads: 16, writes: 8 },
  options: {
    by: ['type', 'rcd_url', 'rcd_username', 'rcd_password'],
    in: ['options', 'secrets'],
    async read(config, context) {
      const { readOptions } = await import('./options.ts');
      return readOptions(config, context);
    },
  },
  async open(config, context) {
    const settings = remoteSettings(config);
    const [{ RcloneDriver }, { rcloneStorage }] = await Promise.all([import('./driver.ts'), import('./rclone.ts')]);
    return RcloneDriver.open(rcloneStorage(settings), context);
  },
});
