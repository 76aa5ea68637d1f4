import path from 'node:path';
import { isAvailable, isMissing, startApacheDav } from '@wharf/harness';
import { afterAll, describe } from 'vitest';
import { folderSide, standingFolder } from '../../driver-contract/conformance/folder-side.ts';
import type { StorageUnderTest } from '../../driver-contract/conformance/rule.suite.ts';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { decorated, describeRclone, documentedAs, madeFolder, opened, SOME, WITHOUT } from './testing/type-suite.ts';

await describeRclone(async () => {
  const webdav = await startApacheDav();
  describe.runIf(isAvailable('webdav', webdav))('on apache', () => {
    if (isMissing(webdav)) return;
    afterAll(() => webdav.stop());
    // rclone sends contents of unknown size to some vendors only; the others must be told the size, which is done around the driver.
    const standing = standingFolder(webdav.folder);
    const on = (vendor: string, around: (driver: StorageDriver) => StorageDriver) => ({
      open: async () => openIn(await madeFolder(webdav.folder), vendor, around),
      openStanding: async () => ({ ...(await openIn(await standing(), vendor, around)), isStanding: true as const }),
    });
    const openIn = async (folder: string, vendor: string, around: (driver: StorageDriver) => StorageDriver): Promise<StorageUnderTest> => {
      const openAt = async ({ host, port }: { host: string; port: number }) => {
        const url = webdav.url.replace(`${webdav.host}:${webdav.port}`, `${host}:${port}`);
        return around(await opened('webdav', { url, vendor, user: webdav.username }, { pass: webdav.password }, path.basename(folder)));
      };
      return { driver: await openAt(webdav), ...folderSide(folder) };
    };
    const lacks = [...WITHOUT, 'space'] as const;
    // Of connections for HTTP, which are rclone's own, idle ones stay for a minute: the rules about faults wait for their end.
    const common = { lacks, hasServer: true } as const;
    describeDriver({ ...common, name: 'webdav with everything around it', ...on('other', decorated) });
    describeDriver({
      ...common,
      name: 'webdav',
      documented: documentedAs('webdav, Apache'),
      ...SOME,
      ...on('owncloud', (driver) => driver),
    });
  });
});
