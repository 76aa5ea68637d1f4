import { put } from '../../driver-contract/conformance/driver-calls.ts';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import type { OptionalOperation, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { MEMORY_PROFILES, memoryDriver } from './index.ts';
import { createExpiringLogin } from './testing/expiring-login.ts';

const LACKS: readonly OptionalOperation[] = [
  'beginRemoval',
  'findOnHost',
  'link',
  'listAll',
  'openDraft',
  'readMany',
  'space',
  'thumbnail',
  'writeMany',
];
const WITHOUT_STEPS: readonly OptionalOperation[] = ['listNames', 'rename', 'statMany'];
const LACKED: Partial<Record<string, readonly OptionalOperation[]>> = {
  'object store': [...LACKS.filter((operation) => operation !== 'listAll' && operation !== 'beginRemoval'), ...WITHOUT_STEPS],
  'no rename': [...LACKS, ...WITHOUT_STEPS],
  'own thumbnails': LACKS.filter((operation) => operation !== 'thumbnail'),
  'several at once': LACKS.filter((operation) => operation !== 'readMany' && operation !== 'writeMany'),
};
/** As of a storage behind a network. */
const decorated = (driver: StorageDriver) => decorate(driver, { names: 4, reads: 2, writes: 2 });

for (const profile of [undefined, ...MEMORY_PROFILES]) {
  const open = () => memoryDriver.open(JSON.stringify({ profile: profile ?? '' }));
  const name = profile === undefined ? 'Memory' : `Memory as ${profile}`;
  const lacks = LACKED[profile ?? ''] ?? LACKS;
  // One that must be told sizes keeps the rules only with what takes them in.
  if (profile !== 'picky') describeDriver({ name, lacks, open: async () => ({ driver: await open() }) });
  describeDriver({ name: `${name} with everything around it`, lacks, open: async () => ({ driver: decorated(await open()) }) });
}
describeDriver({
  name: 'Memory behind a login whose tokens are good for five calls',
  lacks: LACKS,
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
