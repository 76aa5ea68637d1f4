import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { folderSide } from '../../driver-contract/conformance/folder-side.ts';
import { atEnd } from '../../driver-contract/conformance/rule-end.suite.ts';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { localDriver } from './index.ts';

const openWith = (around: (driver: StorageDriver) => StorageDriver) => async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'wharf-local-'));
  atEnd(async () => {
    await rm(root, { recursive: true, force: true });
  });
  return {
    driver: around(await localDriver.open(JSON.stringify({ root_folder_path: root, show_hidden: true }))),
    ...folderSide(root),
  };
};

describeDriver({
  name: 'Local',
  documented: { driver: 'Local', server: 'a folder' },
  lacks: ['beginRemoval', 'link', 'listAll', 'thumbnail'],
  open: openWith((driver) => driver),
});
describeDriver({
  name: 'Local with everything around it',
  lacks: ['beginRemoval', 'link', 'listAll', 'thumbnail'],
  open: openWith((driver) => decorate(driver, undefined)),
});
