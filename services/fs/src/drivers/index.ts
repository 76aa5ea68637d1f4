import type { DriverDefinition } from '../driver-contract/define-driver.ts';
import { aliasDriver } from './alias/index.ts';
import { cryptDriver } from './crypt/index.ts';
import { ftpDriver } from './ftp/index.ts';
import { localDriver } from './local/index.ts';
import { memoryDriver } from './memory/index.ts';
import { rcloneDriver, smbDriver } from './rclone/index.ts';
import { s3Driver } from './s3/index.ts';
import { alistDriver, openListDriver } from './same-api/index.ts';
import { sftpDriver } from './sftp/index.ts';
import { strmDriver } from './strm/index.ts';
import { urlTreeDriver } from './url-tree/index.ts';
import { virtualDriver } from './virtual/index.ts';
import { webdavDriver } from './webdav/index.ts';

/** Every kind of storage there is. A new one is a folder and a line here. */
export const DRIVERS: readonly DriverDefinition[] = [
  localDriver,
  memoryDriver,
  s3Driver,
  sftpDriver,
  ftpDriver,
  smbDriver,
  webdavDriver,
  aliasDriver,
  virtualDriver,
  urlTreeDriver,
  cryptDriver,
  openListDriver,
  alistDriver,
  strmDriver,
  rcloneDriver,
];
