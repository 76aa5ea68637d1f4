import { isAvailable, isMissing, makeTempDir } from '@wharf/harness';
import { describe, expect, it } from 'vitest';
import { startEmbeddedMongo } from '../src/index.ts';
import { type Difference, runFuzz } from './fuzz/run-fuzz.ts';
import { openRealEngine } from './real-engine.ts';

const OPERATIONS = 1500;
const WITHIN_MS = 90_000;
/** Fixed, so that a failure is not met by chance; other seeds: fuzz/main.ts. */
const SEED = 20_240;

const engine = await openRealEngine();

describe.runIf(isAvailable('mongodb', engine))('differential fuzz', () => {
  it(
    `${OPERATIONS} random operations have the same outcome on the embedded store and on a real engine`,
    async () => {
      if (isMissing(engine)) return;
      const dir = await makeTempDir('fuzz');
      const store = await startEmbeddedMongo({ dataDir: dir.path });
      const differences: Difference[] = [];
      try {
        const summary = await runFuzz({
          storeUrl: store.url,
          engineUrl: engine.url,
          operations: OPERATIONS,
          seed: SEED,
          lanes: 8,
          withinMs: WITHIN_MS,
          onDifference: (difference) => differences.push(difference),
        });
        console.error(`differential fuzz: ${JSON.stringify(summary)}`);
        expect(differences).toEqual([]);
        expect(summary.operations).toBeGreaterThan(100);
      } finally {
        await store.stop();
        await engine.stop();
        await dir.remove();
      }
    },
    WITHIN_MS + 60_000,
  );
});
