import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir } from '@wharf/harness';
import { describeQueue } from './queue-contract.ts';

describeQueue('the embedded store', async () => {
  const dir = await makeTempDir('tasks');
  const store = await startEmbeddedMongo({ dataDir: dir.path });
  return {
    url: store.url,
    stop: async () => {
      await store.stop();
      await dir.remove();
    },
  };
});
