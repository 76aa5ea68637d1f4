import { chown, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { type FtpServer, type FtpServerOptions, isAvailable, isMissing, startFaultProxy, startFtpServer } from '@wharf/harness';
import { afterAll, describe } from 'vitest';
import { folderSide, standingFolder } from '../../../driver-contract/conformance/folder-side.ts';
import type { StorageUnderTest } from '../../../driver-contract/conformance/rule.suite.ts';
import { atEnd } from '../../../driver-contract/conformance/rule-end.suite.ts';
import { describeDriver } from '../../../driver-contract/conformance.suite.ts';
import { decorate } from '../../../driver-contract/decorate.ts';
import type { OptionalOperation, StorageDriver } from '../../../driver-contract/storage-driver.ts';
import { ftpDriver } from '../index.ts';

const LACKS: readonly OptionalOperation[] = [
  'copy',
  'findOnHost',
  'link',
  'listAll',
  'listNames',
  'openDraft',
  'space',
  'statMany',
  'thumbnail',
];
/** The whole suite on servers of one make, with TLS and without, on the driver alone and with all that is put around it. */
export async function ftpSuiteOn(
  software: FtpServerOptions['software'],
  cases: ReadonlyArray<Pick<FtpServerOptions, 'tls'> & { isDecorated: boolean }>,
  knownGaps: Readonly<Record<string, string>> = {},
): Promise<void> {
  for (const { isDecorated, tls } of cases) {
    const server = await startFtpServer({ software, ...(tls && { tls }) });
    describe.runIf(isAvailable(software, server))(`FTP on ${software}`, () => {
      if (isMissing(server)) return;
      afterAll(() => server.stop());
      const standing = standingFolder(server.folder);
      const around = (driver: StorageDriver) => (isDecorated ? decorate(driver, ftpDriver.limits) : driver);
      describeDriver({
        name: `FTP${tls ? ` by ${tls} TLS` : ''}${isDecorated ? ' with everything around it' : ''}`,
        lacks: LACKS,
        isRemote: true,
        hasLogin: true,
        ...(!isDecorated && { documented: { driver: 'FTP', server: software } }),
        open: async () => openIn(await newFolder(server), server, tls ?? 'none', around),
        openStanding: async () => ({ ...(await openIn(await standing(), server, tls ?? 'none', around)), isStanding: true }),
        knownGaps,
      });
    });
  }
}

async function newFolder(server: FtpServer): Promise<string> {
  const folder = await mkdtemp(path.join(server.folder, 'storage-'));
  await chown(folder, server.uid, server.uid);
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openIn(
  folder: string,
  server: FtpServer,
  encryption: string,
  around: (driver: StorageDriver) => StorageDriver,
): Promise<StorageUnderTest> {
  const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));
  const openAt = async ({ host, port }: { host: string; port: number }, rest: Record<string, unknown> = {}) => {
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
      ...rest,
    };
    return around(await ftpDriver.open(JSON.stringify(items), { egress }));
  };
  return {
    driver: await openAt(server),
    ...folderSide(folder),
    connections: async () => (await server.connections()) + (await server.transfers()),
    badLogin: { secret: 'another-secret', open: () => openAt(server, { password: 'another-secret' }) },
    async throughFaults() {
      const way = await startFaultProxy({ to: server, samePorts: server.passivePorts });
      return { driver: await openAt(way), way };
    },
  };
}
