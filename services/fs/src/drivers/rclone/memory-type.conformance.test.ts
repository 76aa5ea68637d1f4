import { describe } from 'vitest';
import { atEnd } from '../../driver-contract/conformance/rule-end.suite.ts';
import { plainContext } from '../../driver-contract/open-context.ts';
import { RcloneClient } from './client.ts';
import { RcloneDriver } from './driver.ts';
import { rcd } from './rcd.ts';
import { describeRclone, describeType, documentedAs, egress, FEW, WITHOUT } from './testing/type-suite.ts';
import { webWay } from './ways.ts';

await describeRclone(async () => {
  describe('in memory', () => {
    let storages = 0;
    const openWay = () =>
      webWay(
        async () => undefined,
        () => ({ type: 'memory', parameters: {} }),
      );
    describeType({
      name: 'memory',
      documented: documentedAs('memory'),
      lacks: [...WITHOUT, 'rename', 'space'],
      ...FEW,
      hasServer: true,
      async open() {
        const bucket = `bucket-${++storages}`;
        const maker = new RcloneClient(openWay(), { hold: () => rcd.hold(egress), get: () => rcd.get() });
        await maker.makeFolder(bucket, {});
        atEnd(() => maker.close());
        const settings = { places: { root: `${bucket}/a`, space: undefined }, rootPath: '/', openWay };
        return {
          driver: await RcloneDriver.open(settings, plainContext({}, { egress })),
          seed: async (paths: readonly string[]) => {
            for (const file of paths) await maker.write(`${bucket}/a${file}`, nothing(), {});
          },
        };
      },
    });
  });
});

async function* nothing(): AsyncGenerator<Uint8Array, void> {}
