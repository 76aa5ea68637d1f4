import { countConnections, isAvailable, isMissing, startCephRgw } from '@wharf/harness';
import { afterAll, describe } from 'vitest';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { s3Driver } from './index.ts';
import { makeBucket, testEgress } from './testing/bucket.ts';
import { bucketRules } from './testing/bucket-rules.ts';

const server = await startCephRgw();

describe.runIf(isAvailable('ceph-rgw', server))('on Ceph RGW', async () => {
  if (isMissing(server)) return;
  const port = Number(new URL(server.url).port);
  const bucket = await makeBucket(server, 'conformance');
  afterAll(() => server.stop());
  let storages = 0;
  describeDriver({
    name: 'S3',
    open: async () => {
      const root = `rule ${++storages}/ä+b`;
      return {
        driver: await s3Driver.open(bucket.addition({ root_folder_path: root, list_object_version: storages % 2 ? 'v1' : 'v2' }), {
          egress: testEgress(),
        }),
        seed: async (paths) => void (await Promise.all(paths.map((path) => bucket.put(root + path)))),
        leftovers: async () => [...(await bucket.uploads(`${root}/`)), ...(await bucket.keys(`${root}/.wharf-uploads/`))],
        connections: () => {
          bucket.rest();
          return countConnections(port);
        },
      };
    },
  });
  bucketRules(server, bucket);
});
