import { chown, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { type FtpServer, type FtpServerOptions, isAvailable, isMissing, startFaultProxy, startFtpServer } from '@wharf/harness';
import { afterAll, describe } from 'vitest';
import { folderSide, standingFolder } from '../../../driver-contract/conformance/folder-side.ts';
import type { StorageUnderTest, TlsSide } from '../../../driver-contract/conformance/rule.suite.ts';
import { atEnd } from '../../../driver-contract/conformance/rule-end.suite.ts';
import { trustItems } from '../../../driver-contract/conformance/tls-rules.suite.ts';
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
  'readMany',
  'space',
  'statMany',
  'thumbnail',
  'writeMany',
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
      const openIn = (folder: string) => storageIn(folder, { software, server, tls, around });
      describeDriver({
        name: `FTP${tls ? ` by ${tls} TLS` : ''}${isDecorated ? ' with everything around it' : ''}`,
        lacks: LACKS,
        isRemote: true,
        stepsAside: true,
        hasServer: true,
        hasLogin: true,
        ...(tls && { hasTls: true }),
        ...(!isDecorated && { documented: { driver: 'FTP', server: software } }),
        open: async () => openIn(await newFolder(server)),
        openStanding: async () => ({ ...(await openIn(await standing())), isStanding: true }),
        knownGaps,
      });
    });
  }
}

interface Place {
  readonly software: FtpServerOptions['software'];
  readonly server: FtpServer;
  readonly tls: FtpServerOptions['tls'];
  readonly around: (driver: StorageDriver) => StorageDriver;
}

async function newFolder(server: FtpServer): Promise<string> {
  const folder = await mkdtemp(path.join(server.folder, 'storage-'));
  await chown(folder, server.uid, server.uid);
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openAt(server: FtpServer, { tls, around }: Place, rest: Record<string, unknown> = {}): Promise<StorageDriver> {
  const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));
  const items = {
    address: `${server.host}:${server.port}`,
    encoding: 'utf-8',
    username: server.username,
    password: server.password,
    encryption: tls ?? 'none',
    tls_certificate: server.certificate,
    ...rest,
  };
  return around(await ftpDriver.open(JSON.stringify(items), { egress }));
}

async function storageIn(folder: string, place: Place): Promise<StorageUnderTest> {
  const { server, tls } = place;
  const open = (rest: Record<string, unknown> = {}) => openAt(server, place, { root_folder_path: `/${path.basename(folder)}`, ...rest });
  return {
    driver: await open(),
    ...folderSide(folder),
    connections: async () => (await server.connections()) + (await server.transfers()),
    badLogin: { secret: 'another-secret', open: () => open({ password: 'another-secret' }) },
    ...(tls && { tls: tlsSide(place) }),
    async throughFaults() {
      const way = await startFaultProxy({ to: server, samePorts: server.passivePorts });
      // It has another address than the certificate.
      return { driver: await open({ address: `${way.host}:${way.port}`, tls_insecure_skip_verify: true }), way, keeps: 16 };
    },
  };
}

/** Each certificate has a server of its own. */
function tlsSide(place: Place): TlsSide {
  const { software, tls, server } = place;
  return {
    secrets: [server.password],
    async start(certificate) {
      const shown = await startFtpServer({ software, certificate, ...(tls && { tls }) });
      if (isMissing(shown)) throw new Error(shown.missing);
      atEnd(() => shown.stop());
      return {
        open: (trust) => openAt(shown, place, { root_folder_path: '/', ...trustItems(trust) }),
        isSpokenTo: async () => /\b(?:USER|PASS)\b/.test(await shown.commands()),
      };
    },
  };
}
