import { chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { isAvailable, isMissing, startSshServer } from '@wharf/harness';
import { afterAll, describe, onTestFinished } from 'vitest';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { sftpDriver } from './index.ts';

const server = await startSshServer();

describe.runIf(isAvailable('sshd', server))('SFTP on OpenSSH', () => {
  if (isMissing(server)) return;
  afterAll(() => server.stop());
  const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));

  const openWith = (around: (driver: StorageDriver) => StorageDriver) => async () => {
    const folder = await mkdtemp(path.join(server.folder, 'storage-'));
    await chown(folder, server.uid, server.uid);
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const items = {
      address: `${server.host}:${server.port}`,
      username: server.username,
      private_key: server.privateKey,
      root_folder_path: `${server.rootPath}/${path.basename(folder)}`,
    };
    return {
      driver: around(await sftpDriver.open(JSON.stringify(items), { egress })),
      async seed(paths: readonly string[]) {
        for (const file of paths) {
          await mkdir(path.join(folder, path.dirname(file)), { recursive: true });
          await writeFile(path.join(folder, file), '');
        }
      },
      leftovers: async () => (await readdir(folder, { recursive: true })).filter((name) => name.includes('.wharf-tmp')),
      connections: () => server.connections(),
    };
  };

  describeDriver({ name: 'SFTP', open: openWith((driver) => driver) });
  describeDriver({ name: 'SFTP with everything around it', open: openWith((driver) => decorate(driver, sftpDriver.limits)) });
});
