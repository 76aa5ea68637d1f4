import { join } from 'node:path';
import { isAvailable, makeTempDir, startDocumentDb, startServices } from '@wharf/harness';
import { afterAll, describe, expect, it } from 'vitest';
import { SCENARIOS } from './scenarios/all-scenarios.ts';
import { findScans } from './support/explain-queries.ts';
import { startProgram } from './support/program.ts';
import { startQueryRecorder } from './support/query-recorder.ts';
import { storeScans } from './support/store-scans.ts';
import { openWorld } from './support/world.ts';

const dir = await makeTempDir('services-store');
const store = await startProgram('packages/embedded-mongo', {}, ['--data-dir', join(dir.path, 'store')]);
const recorder = await startQueryRecorder(store.ready);
const world = await openWorld(startServices, { env: { MONGO_URL: recorder.url } });
const engine = await startDocumentDb();
afterAll(async () => {
  await world.close();
  await recorder.stop();
  await store.stop();
  if ('url' in engine) await engine.stop();
  await dir.remove();
});

describe('five processes', () => {
  for (const scenario of SCENARIOS) scenario(world);

  it('have an index for whatever they ask the store', async () => {
    // Subtrees of the search index are asked for by two conditions of which one holds; MongoDB unites their ranges, the embedded store does not.
    const scans = await storeScans(store.ready);
    expect(scans.filter((scan) => scan !== 'search_folders: ')).toEqual([]);
  });

  it.runIf(isAvailable('mongodb', engine))(
    'ask nothing for which a real engine has to read a whole collection',
    { timeout: 300_000 },
    async () => {
      if (!('url' in engine)) return;
      const queries = recorder.queries();
      expect(queries.length).toBeGreaterThan(50);
      // One that nobody asks shows that such a query is found.
      const scan = { collection: 'users', filter: { nothing_like_it: 1 }, sort: undefined };
      expect(await findScans(engine.url, store.ready, [...queries, scan])).toEqual(['users: nothing_like_it']);
    },
  );
});
