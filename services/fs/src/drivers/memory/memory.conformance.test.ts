import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import { MEMORY_PROFILES, memoryDriver } from './index.ts';

const open = () => memoryDriver.open('');

describeDriver({ name: 'Memory', open: async () => ({ driver: await open() }) });
describeDriver({
  name: 'Memory with everything that is put around a storage behind a network',
  open: async () => ({ driver: decorate(await open(), { names: 4, reads: 2, writes: 2 }) }),
});
for (const profile of MEMORY_PROFILES)
  describeDriver({
    name: `Memory as ${profile}`,
    open: async () => ({ driver: await memoryDriver.open(JSON.stringify({ profile })) }),
  });
