import { chown, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { isAvailable, isMissing, type SshServer, startFaultProxy, startSshServer } from '@wharf/harness';
import { afterAll, describe } from 'vitest';
import { folderSide, standingFolder } from '../../driver-contract/conformance/folder-side.ts';
import type { StorageUnderTest } from '../../driver-contract/conformance/rule.suite.ts';
import { atEnd } from '../../driver-contract/conformance/rule-end.suite.ts';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import type { KeptItem } from '../../driver-contract/kept-item.ts';
import type { OptionalOperation, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { sftpDriver } from './index.ts';

const servers = [await startSshServer(), await startSshServer({ chroot: true })] as const;
const [server, jail] = servers;
const LACKS: readonly OptionalOperation[] = [
  'findOnHost',
  'link',
  'listAll',
  'listNames',
  'readMany',
  'statMany',
  'thumbnail',
  'writeMany',
];

describe.runIf(isAvailable('sshd', server) && isAvailable('sshd', jail))('SFTP on OpenSSH', () => {
  if (isMissing(server) || isMissing(jail)) return;
  afterAll(async () => {
    await server.stop();
    await jail.stop();
  });
  const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));

  const standing = { server: standingFolder(server.folder), jail: standingFolder(jail.folder) };
  const newFolder = async (at: SshServer) => {
    const folder = await mkdtemp(path.join(at.folder, 'storage-'));
    await chown(folder, at.uid, at.uid);
    atEnd(() => rm(folder, { recursive: true, force: true }));
    return folder;
  };
  const openIn = async (folder: string, at: SshServer, around: (driver: StorageDriver) => StorageDriver): Promise<StorageUnderTest> => {
    const openAt = async ({ host, port }: { host: string; port: number }, login: Record<string, unknown> = {}, kept?: KeptItem) => {
      const items = {
        address: `${host}:${port}`,
        username: at.username,
        private_key: at.privateKey,
        root_folder_path: `${at.rootPath}/${path.basename(folder)}`,
        ...login,
      };
      return around(await sftpDriver.open(JSON.stringify(items), { egress, ...(kept && { keptItem: () => kept }) }));
    };
    return {
      driver: await openAt(at),
      ...folderSide(folder),
      connections: () => at.connections(),
      badLogin: { secret: 'another-secret', open: () => openAt(at, { private_key: '', password: 'another-secret' }) },
      async startKeyed() {
        const keyed = await startSshServer();
        if (isMissing(keyed)) throw new Error(keyed.missing);
        atEnd(() => keyed.stop());
        const login = { username: keyed.username, private_key: '', password: keyed.password, root_folder_path: keyed.rootPath };
        return {
          secret: keyed.password,
          fingerprint: () => keyed.hostKeyFingerprint(),
          changeKey: () => keyed.changeHostKey(),
          logins: () => keyed.logins(),
          connections: () => keyed.connections(),
          open: (kept) => openAt(keyed, login, kept),
        };
      },
      async throughFaults() {
        const way = await startFaultProxy({ to: at });
        return { driver: await openAt(way), way, keeps: 4 };
      },
    };
  };
  const on = (which: 'server' | 'jail', around: (driver: StorageDriver) => StorageDriver) => {
    const at = which === 'server' ? server : jail;
    return {
      open: async () => openIn(await newFolder(at), at, around),
      openStanding: async () => ({ ...(await openIn(await standing[which](), at, around)), isStanding: true as const }),
    };
  };
  const common = { lacks: LACKS, isRemote: true, stepsAside: true, hasServer: true, hasLogin: true } as const;

  describeDriver({
    ...common,
    name: 'SFTP',
    documented: { driver: 'SFTP', server: 'OpenSSH' },
    hasHostKey: true,
    ...on('server', (driver) => driver),
  });
  describeDriver({
    ...common,
    name: 'SFTP with everything around it',
    hasHostKey: true,
    ...on('server', (driver) => decorate(driver, sftpDriver.limits)),
  });
  describeDriver({ ...common, name: 'SFTP for a user who is shut in', ...on('jail', (driver) => driver) });
});
