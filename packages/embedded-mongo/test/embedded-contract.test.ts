import { makeTempDir } from '@wharf/harness';
import { startEmbeddedMongo } from '../src/index.ts';
import { ALL_RULES } from './contract/all-rules.ts';
import { describeStore } from './contract/store-contract.ts';

describeStore(
  'the embedded store',
  async () => {
    const dir = await makeTempDir('store');
    const store = await startEmbeddedMongo({ dataDir: dir.path, ttlIntervalMs: 200 });
    return {
      url: store.url,
      stop: async () => {
        await store.stop();
        await dir.remove();
      },
    };
  },
  ALL_RULES,
);
