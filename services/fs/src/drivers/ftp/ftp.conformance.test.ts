import { chown, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { type FtpServer, isAvailable, isMissing, startFaultProxy, startFtpServer } from '@wharf/harness';
import { afterAll, describe, onTestFinished } from 'vitest';
import { folderSide } from '../../driver-contract/conformance/folder-side.ts';
import type { StorageUnderTest } from '../../driver-contract/conformance/rule.suite.ts';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import type { OptionalOperation, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { ftpDriver } from './index.ts';

const LACKS: readonly OptionalOperation[] = ['copy', 'findOnHost', 'link', 'listAll', 'listNames', 'openDraft', 'space', 'statMany'];
const ODD_FOLDERS = 'odd names work for folders, and as targets of a rename';
/** Each server as it is and with all that is put around it, with TLS and without. */
const CASES = [
  { software: 'vsftpd', isDecorated: false },
  { software: 'vsftpd', tls: 'explicit', isDecorated: true },
  { software: 'proftpd', tls: 'implicit', isDecorated: false },
  { software: 'proftpd', isDecorated: true },
] as const;

for (const { isDecorated, ...options } of CASES) {
  const { software } = options;
  const server = await startFtpServer(options);
  describe.runIf(isAvailable(software, server))(`FTP on ${software}`, () => {
    if (isMissing(server)) return;
    afterAll(() => server.stop());
    const around = (driver: StorageDriver) => (isDecorated ? decorate(driver, ftpDriver.limits) : driver);
    describeDriver({
      name: `FTP${'tls' in options ? ` by ${options.tls} TLS` : ''}${isDecorated ? ' with everything around it' : ''}`,
      lacks: LACKS,
      isRemote: true,
      open: () => openOn(server, 'tls' in options ? options.tls : 'none', around),
      ...(software === 'proftpd' && { knownGaps: { [ODD_FOLDERS]: 'proftpd makes no folder with * in its name' } }),
    });
  });
}

async function openOn(server: FtpServer, encryption: string, around: (driver: StorageDriver) => StorageDriver): Promise<StorageUnderTest> {
  const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));
  const folder = await mkdtemp(path.join(server.folder, 'storage-'));
  await chown(folder, server.uid, server.uid);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const openAt = async ({ host, port }: { host: string; port: number }) => {
    const items = {
      address: `${host}:${port}`,
      encoding: 'utf-8',
      username: server.username,
      password: server.password,
      root_folder_path: `/${path.basename(folder)}`,
      encryption,
      // The way to it has another address than its certificate.
      tls_insecure_skip_verify: host !== server.host,
      tls_certificate: server.certificate,
    };
    return around(await ftpDriver.open(JSON.stringify(items), { egress }));
  };
  return {
    driver: await openAt(server),
    ...folderSide(folder),
    connections: async () => (await server.connections()) + (await server.transfers()),
    async throughFaults() {
      const way = await startFaultProxy({ to: server, samePorts: server.passivePorts });
      return { driver: await openAt(way), way };
    },
  };
}
