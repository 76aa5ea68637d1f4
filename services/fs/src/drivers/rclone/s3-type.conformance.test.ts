import { isAvailable, isMissing, startCephRgw } from '@wharf/harness';
import { afterAll, describe } from 'vitest';
import { makeBucket } from '../s3/testing/bucket.ts';
import { describeRclone, describeType, documentedAs, FEW, opened, WITHOUT } from './testing/type-suite.ts';

await describeRclone(async () => {
  const ceph = await startCephRgw();
  describe.runIf(isAvailable('ceph-rgw', ceph))('on Ceph RGW', async () => {
    if (isMissing(ceph)) return;
    afterAll(() => ceph.stop());
    const bucket = await makeBucket(ceph, 'rclone');
    let storages = 0;
    describeType({
      name: 's3',
      documented: documentedAs('s3, Ceph RGW'),
      lacks: [...WITHOUT, 'rename', 'space'],
      ...FEW,
      hasServer: true,
      async open() {
        const root = `rule ${++storages}/ä+b`;
        const { access_key_id, secret_access_key } = JSON.parse(bucket.addition({})) as Record<string, string>;
        const openAt = (endpoint: string) =>
          opened(
            's3',
            { provider: 'Ceph', endpoint, no_check_bucket: 'true' },
            { access_key_id: access_key_id ?? '', secret_access_key: secret_access_key ?? '' },
            `rclone/${root}`,
          );
        return {
          driver: await openAt(ceph.url),
          seed: (paths: readonly string[]) => bucket.putMany(paths.map((file) => root + file)),
          leftovers: async () => bucket.uploads(`${root}/`),
        };
      },
    });
  });
});
