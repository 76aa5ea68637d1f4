import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MOUNT_ROOT } from '@wharf/paths';
import { atEnd } from '../../driver-contract/conformance/rule-end.suite.ts';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import { inFolder } from '../../driver-contract/in-folder.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { localDriver } from '../local/index.ts';
import { memoryDriver } from '../memory/index.ts';
import { MAGIC, NONCE_BYTES } from './format.ts';
import { cryptDriver } from './index.ts';

const LACKS = [
  'beginRemoval',
  'findOnHost',
  'link',
  'listAll',
  'listNames',
  'openDraft',
  'readMany',
  'statMany',
  'thumbnail',
  'writeMany',
] as const;
const NAMES = {
  off: { filename_encryption: 'off', directory_name_encryption: 'false' },
  base32: { filename_encryption: 'standard', directory_name_encryption: 'true', filename_encoding: 'base32' },
} as const;
const decorated = (driver: StorageDriver) => decorate(driver, cryptDriver.limits);

async function openOver(inner: StorageDriver, names: keyof typeof NAMES): Promise<StorageDriver> {
  const addition = { ...NAMES[names], remote_path: '/inner', password: 'a password', encrypted_suffix: '.bin', show_hidden: true };
  const openMount = async () => {
    const folder = inFolder(decorated(inner), MOUNT_ROOT, () => undefined);
    return { ...folder, close: async () => void (await Promise.all([folder.close(), inner.close()])) };
  };
  return cryptDriver.open(JSON.stringify({ filename_encoding: 'base64', ...addition }), { openMount });
}

/** With a folder of this machine below, into which empty files are put past the driver. */
async function openLocal() {
  const root = await mkdtemp(path.join(tmpdir(), 'wharf-crypt-'));
  atEnd(async () => {
    await rm(root, { recursive: true, force: true });
  });
  const inner = await localDriver.open(JSON.stringify({ root_folder_path: root, show_hidden: true }));
  return {
    driver: decorated(await openOver(inner, 'off')),
    async seed(paths: readonly string[]) {
      for (const file of paths) {
        await mkdir(path.join(root, path.dirname(file)), { recursive: true });
        await writeFile(path.join(root, `${file}.bin`), Buffer.concat([MAGIC, Buffer.alloc(NONCE_BYTES)]));
      }
    },
  };
}

describeDriver({
  name: 'Crypt over memory, names in base32',
  documented: { driver: 'Crypt', server: 'names in base32' },
  lacks: [...LACKS, 'space'],
  open: async () => ({ driver: await openOver(await memoryDriver.open('{}'), 'base32') }),
});
describeDriver({
  name: 'Crypt over memory, names in base32, with everything around it',
  lacks: [...LACKS, 'space'],
  open: async () => ({ driver: decorated(await openOver(await memoryDriver.open('{}'), 'base32')) }),
});
describeDriver({
  name: 'Crypt over Local, names as they are, with everything around it',
  documented: { driver: 'Crypt', server: 'names as they are, over Local' },
  lacks: LACKS,
  open: openLocal,
});
describeDriver({
  name: 'Crypt over a store of objects',
  lacks: [...LACKS.filter((operation) => operation !== 'beginRemoval'), 'rename', 'space'],
  groups: ['making and removing', 'abilities'],
  open: async () => ({ driver: decorated(await openOver(await memoryDriver.open('{"profile":"object store"}'), 'base32')) }),
});
