import { put } from '../../driver-contract/conformance/driver-calls.ts';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import { MEMORY_PROFILES, memoryDriver } from './index.ts';
import { createExpiringLogin } from './testing/expiring-login.ts';

const open = () => memoryDriver.open('');

describeDriver({ name: 'Memory', open: async () => ({ driver: await open() }) });
describeDriver({
  name: 'Memory with everything that is put around a storage behind a network',
  open: async () => ({ driver: decorate(await open(), { names: 4, reads: 2, writes: 2 }) }),
});
for (const profile of MEMORY_PROFILES)
  describeDriver({
    name: `Memory as ${profile}`,
    // What must be told sizes passes with what is put around it.
    open: async () => {
      const driver = await memoryDriver.open(JSON.stringify({ profile }));
      return { driver: driver.traits.needsSize ? decorate(driver, undefined) : driver };
    },
  });
describeDriver({
  name: 'Memory behind a login whose tokens are good for five calls',
  open: async () => {
    const login = createExpiringLogin('Expiring');
    login.expireAfter(5);
    return {
      driver: decorate(await login.definition.open(login.addition), undefined),
      // Past the login: a token for five calls does not go round a hundred at once.
      seed: async (paths) => {
        for (const path of paths) await put(login.store, path, '');
      },
    };
  },
});
