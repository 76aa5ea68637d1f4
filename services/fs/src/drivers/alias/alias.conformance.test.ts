import { MOUNT_ROOT } from '@wharf/paths';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import { inFolder } from '../../driver-contract/in-folder.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { memoryDriver } from '../memory/index.ts';
import { aliasDriver } from './index.ts';

const asItIs = (driver: StorageDriver) => driver;
const decorated = (driver: StorageDriver) => decorate(driver, aliasDriver.limits);

/** Over storages in memory, each of which is another one. @param profiles of them, in their order; absent: none has one */
const openOver =
  (paths: string, around: (driver: StorageDriver) => StorageDriver, policy: string, profiles: readonly string[] = []) =>
  async () => {
    const left = profiles.values();
    const openMount = async () => {
      const profile = left.next().value ?? '';
      return inFolder(decorated(await memoryDriver.open(JSON.stringify({ profile }))), MOUNT_ROOT, () => undefined);
    };
    const addition = JSON.stringify({ paths, write_conflict_policy: policy, put_conflict_policy: policy });
    return { driver: around(await aliasDriver.open(addition, { openMount })) };
  };

const LACKS = [
  'beginRemoval',
  'findOnHost',
  'link',
  'listAll',
  'listNames',
  'openDraft',
  'readMany',
  'space',
  'statMany',
  'thumbnail',
  'writeMany',
] as const;

describeDriver({
  name: 'Alias of one folder',
  documented: { driver: 'Alias', server: 'one folder' },
  lacks: ['beginRemoval', 'findOnHost', 'link', 'listAll', 'openDraft', 'readMany', 'space', 'thumbnail', 'writeMany'],
  open: openOver('/one', asItIs, 'first'),
});
describeDriver({
  name: 'Alias of one folder, with everything around it',
  lacks: ['beginRemoval', 'findOnHost', 'link', 'listAll', 'openDraft', 'readMany', 'space', 'thumbnail', 'writeMany'],
  open: openOver('/one', decorated, 'first'),
});
describeDriver({
  name: 'Alias of two folders as one',
  documented: { driver: 'Alias', server: 'two folders as one' },
  lacks: LACKS,
  open: openOver('x:/one\nx:/two', asItIs, 'first'),
});
describeDriver({
  name: 'Alias of two folders as one, with everything around it',
  lacks: LACKS,
  open: openOver('x:/one\nx:/two', decorated, 'first'),
});
describeDriver({
  name: 'Alias of two folders that are written both, with everything around it',
  lacks: LACKS,
  open: openOver('x:/one\nx:/two', decorated, 'all'),
});
const REMOVING = ['making and removing', 'abilities'];
const BEGINNING = LACKS.filter((operation) => operation !== 'beginRemoval');
describeDriver({
  name: 'Alias of two stores of objects that are written both, with everything around it',
  lacks: [...BEGINNING, 'rename'],
  groups: REMOVING,
  open: openOver('x:/one\nx:/two', decorated, 'all', ['object store', 'object store']),
});
describeDriver({
  name: 'Alias of a store of objects and another storage that are written both, with everything around it',
  lacks: BEGINNING,
  groups: REMOVING,
  open: openOver('x:/one\nx:/two', decorated, 'all', ['object store']),
});
