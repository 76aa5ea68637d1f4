import type { DriverDefinition } from '../driver-contract/define-driver.ts';
import { localDriver } from './local/index.ts';
import { memoryDriver } from './memory/index.ts';
import { s3Driver } from './s3/index.ts';
import { sftpDriver } from './sftp/index.ts';

/** Every kind of storage there is. A new one is a folder and a line here. */
export const DRIVERS: readonly DriverDefinition[] = [localDriver, memoryDriver, s3Driver, sftpDriver];
