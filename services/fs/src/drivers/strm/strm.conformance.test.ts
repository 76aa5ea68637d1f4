import { MOUNT_ROOT } from '@wharf/paths';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import { inFolder } from '../../driver-contract/in-folder.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { memoryDriver } from '../memory/index.ts';
import { strmDriver } from './index.ts';

const lacks = [
  'beginRemoval',
  'copy',
  'findOnHost',
  'link',
  'listAll',
  'listNames',
  'makeDirectory',
  'openDraft',
  'readMany',
  'remove',
  'rename',
  'space',
  'statMany',
  'thumbnail',
  'write',
  'writeMany',
] as const;

const openOver = (around: (driver: StorageDriver) => StorageDriver) => async () => {
  const openMount = async () => inFolder(decorate(await memoryDriver.open('{}'), undefined), MOUNT_ROOT, () => undefined);
  return { driver: around(await strmDriver.open(JSON.stringify({ paths: '/one', siteUrl: 'http://x' }), { openMount })) };
};

describeDriver({ name: 'Strm', documented: { driver: 'Strm', server: 'a folder' }, lacks, open: openOver((driver) => driver) });
describeDriver({ name: 'Strm, with everything around it', lacks, open: openOver((driver) => decorate(driver, strmDriver.limits)) });
