import { chown, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { ensureCommand, isAvailable, isMissing, type SambaServer, startFaultProxy, startSamba } from '@wharf/harness';
import { afterAll, describe } from 'vitest';
import { folderSide, standingFolder } from '../../../driver-contract/conformance/folder-side.ts';
import type { StorageUnderTest } from '../../../driver-contract/conformance/rule.suite.ts';
import { atEnd } from '../../../driver-contract/conformance/rule-end.suite.ts';
import { describeDriver } from '../../../driver-contract/conformance.suite.ts';
import { decorate } from '../../../driver-contract/decorate.ts';
import type { OptionalOperation, StorageDriver } from '../../../driver-contract/storage-driver.ts';
import { smbDriver } from '../index.ts';

const LACKS: readonly OptionalOperation[] = [
  'beginRemoval',
  'copy',
  'findOnHost',
  'link',
  'listAll',
  'listNames',
  'openDraft',
  'readMany',
  'statMany',
  'thumbnail',
  'writeMany',
];
const rclone = await ensureCommand('rclone', 'rclone');

/** The whole suite on a server that tells upper from lower case; or on one that does not, with all that is put around the driver. */
export async function smbSuiteOn(isCaseSensitive: boolean): Promise<void> {
  const server = await startSamba({ isCaseSensitive });
  describe.runIf(isAvailable('samba', server) && isAvailable('rclone', rclone))('SMB on Samba', () => {
    if (isMissing(server)) return;
    afterAll(() => server.stop());
    const standing = standingFolder(server.folder);
    const around = (driver: StorageDriver) => (isCaseSensitive ? driver : decorate(driver, smbDriver.limits));
    describeDriver({
      name: isCaseSensitive ? 'SMB' : 'SMB that folds names, with everything around it',
      lacks: LACKS,
      documented: { driver: 'SMB', server: isCaseSensitive ? 'Samba' : 'Samba that folds names' },
      isRemote: true,
      stepsAside: true,
      hasServer: true,
      hasLogin: true,
      open: async () => openIn(await newFolder(server), server, around),
      openStanding: async () => ({ ...(await openIn(await standing(), server, around)), isStanding: true }),
    });
  });
}

async function newFolder(server: SambaServer): Promise<string> {
  const folder = await mkdtemp(path.join(server.folder, 'storage ä+'));
  await chown(folder, server.uid, server.uid);
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openIn(folder: string, server: SambaServer, around: (driver: StorageDriver) => StorageDriver): Promise<StorageUnderTest> {
  const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));
  const openAt = async ({ host, port }: { host: string; port: number }, rest: Record<string, unknown> = {}) => {
    const items = {
      address: `${host}:${port}`,
      username: server.username,
      password: server.password,
      share_name: server.share,
      root_folder_path: path.basename(folder),
      ...rest,
    };
    return around(await smbDriver.open(JSON.stringify(items), { egress }));
  };
  return {
    driver: await openAt(server),
    ...folderSide(folder),
    connections: () => server.connections(),
    badLogin: { secret: 'another-secret', open: () => openAt(server, { password: 'another-secret' }) },
    async throughFaults() {
      const way = await startFaultProxy({ to: server });
      return { driver: await openAt(way), way, keeps: 32 };
    },
  };
}
