import { startStandalone } from '@wharf/harness';
import { afterAll, expect, test } from 'vitest';
import { runSchemaFuzz } from './support/schema-fuzz.ts';
import { openWorld } from './support/world.ts';

/** Requests of each operation. More, and other seeds: `npm run soak -- schema`. */
const CASES = 10;
/** Fixed, so that nobody meets a failure by chance. */
const SEED = 13;

const world = await openWorld(startStandalone);
afterAll(() => world.close());

test('every operation of the OpenAPI document answers as the document says', { timeout: 300_000 }, async () => {
  const { operations, requests, faults } = await runSchemaFuzz(world, { cases: CASES, seed: SEED });
  expect(faults).toEqual([]);
  expect(operations).toBeGreaterThan(300);
  expect(requests).toBe(operations * CASES);
});
