import type { ServerResponse } from 'node:http';
import { countConnections, isAvailable, isMissing, startCephRgw, startFaultProxy } from '@wharf/harness';
import { afterAll, beforeAll, describe } from 'vitest';
import { seedLongFolders } from '../../driver-contract/conformance/long-folders.suite.ts';
import type { Trust } from '../../driver-contract/conformance/rule.suite.ts';
import { trustItems } from '../../driver-contract/conformance/tls-rules.suite.ts';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { s3Driver } from './index.ts';
import { makeBucket, testEgress } from './testing/bucket.ts';
import { bucketRules } from './testing/bucket-rules.ts';

const server = await startCephRgw();

describe.runIf(isAvailable('ceph-rgw', server))('on Ceph RGW', async () => {
  if (isMissing(server)) return;
  const port = Number(new URL(server.url).port);
  const bucket = await makeBucket(server, 'conformance');
  afterAll(() => server.stop());
  // The long folders take a third of the time that all rules take: they are made beside the first ones.
  beforeAll(() => {
    standing ??= makeStanding();
    standing.catch(() => undefined);
  });
  let storages = 0;
  // As long each time, for the longest path depends on it.
  const newRoot = () => `rule ${String(++storages).padStart(4, '0')}/ä+b`;
  const seedIn = (root: string) => (paths: readonly string[]) => bucket.putMany(paths.map((path) => root + path));
  let standing: Promise<string> | undefined;
  const makeStanding = async () => {
    const root = newRoot();
    await seedLongFolders(seedIn(root));
    return root;
  };
  const on = (around: (driver: StorageDriver) => StorageDriver) => ({
    open: () => openIn(newRoot(), around),
    async openStanding() {
      standing ??= makeStanding();
      return { ...(await openIn(await standing, around)), isStanding: true as const };
    },
  });
  const openIn = async (root: string, around: (driver: StorageDriver) => StorageDriver) => {
    const list_object_version = storages % 2 ? 'v1' : 'v2';
    const openAt = async (endpoint: string, items: Record<string, unknown> = {}) => {
      const addition = bucket.addition({ root_folder_path: root, list_object_version, endpoint, ...items });
      return around(await s3Driver.open(addition, { egress: testEgress() }));
    };
    return {
      driver: await openAt(server.url),
      seed: seedIn(root),
      leftovers: async () => [...(await bucket.uploads(`${root}/`)), ...(await bucket.keys(`${root}/.wharf-uploads/`))],
      connections: () => {
        bucket.rest();
        return countConnections(port);
      },
      web: {
        url: server.url,
        secrets: [server.secretAccessKey, server.accessKeyId],
        open: (url: string, trust?: Trust) => openAt(url, trustItems(trust)),
        refuseLogin: (response: ServerResponse) => void response.writeHead(403).end('<Error><Code>InvalidAccessKeyId</Code></Error>'),
      },
      badLogin: { secret: 'another-secret', open: () => openAt(server.url, { secret_access_key: 'another-secret' }) },
      async throughFaults() {
        const way = await startFaultProxy({ to: { host: '127.0.0.1', port } });
        // Writers that are aborted together give up their uploads together: each keeps the connection that this takes.
        return { driver: await openAt(`http://${way.host}:${way.port}`), way, keeps: 6 };
      },
    };
  };
  const common = {
    lacks: ['findOnHost', 'rename', 'space', 'listNames', 'readMany', 'statMany', 'thumbnail', 'writeMany'],
    isRemote: true,
    hasServer: true,
    isWeb: true,
    hasLogin: true,
  } as const;
  describeDriver({ ...common, name: 'S3', documented: { driver: 'S3', server: 'Ceph RGW' }, ...on((driver) => driver) });
  describeDriver({ ...common, name: 'S3 with everything around it', ...on((driver) => decorate(driver, s3Driver.limits)) });
  bucketRules(server, bucket);
});
