import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir } from '@wharf/harness';
import { afterAll } from 'vitest';
import { describeSeveral } from './several-contract.ts';

const dir = await makeTempDir('several');
const store = await startEmbeddedMongo({ dataDir: dir.path });
afterAll(async () => {
  await store.stop();
  await dir.remove();
});
describeSeveral('the embedded store', async () => store);
