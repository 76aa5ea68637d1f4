import { join } from 'node:path';
import { makeTempDir, startServices } from '@wharf/harness';
import { afterAll, describe, expect, it } from 'vitest';
import { SCENARIOS } from './scenarios/all-scenarios.ts';
import { startProgram } from './support/program.ts';
import { storeScans } from './support/store-scans.ts';
import { openWorld } from './support/world.ts';

const dir = await makeTempDir('services-store');
const store = await startProgram('packages/embedded-mongo', {}, ['--data-dir', join(dir.path, 'store')]);
const world = await openWorld(startServices, { env: { MONGO_URL: store.ready } });
afterAll(async () => {
  await world.close();
  await store.stop();
  await dir.remove();
});

describe('five processes', () => {
  for (const scenario of SCENARIOS) scenario(world);

  it('have an index for whatever they ask the store', async () => {
    // Subtrees of the search index are asked for by two conditions of which one holds; MongoDB unites their ranges, the embedded store does not.
    const scans = await storeScans(store.ready);
    expect(scans.filter((scan) => scan !== 'search_folders: ')).toEqual([]);
  });
});
