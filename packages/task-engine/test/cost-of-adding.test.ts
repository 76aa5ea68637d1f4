import { type EmbeddedMongo, startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { TaskEngine } from '../src/index.ts';
import { documentsRead } from './documents-read.ts';
import { ANN, type Installation, idle, openInstallation } from './installation.ts';

/** Tasks added at each step, one by one. */
const STEP = 100;
/** What a step may cost: a few documents for each task, and all that are open once. */
const MOST = 15 * STEP;

let dir: TempDir;
let embedded: EmbeddedMongo;
let place: Installation;
beforeAll(async () => {
  dir = await makeTempDir('cost-of-adding');
  embedded = await startEmbeddedMongo({ dataDir: dir.path });
});
beforeEach(async () => {
  place = await openInstallation(embedded.url);
});
afterEach(() => place.close());
afterAll(async () => {
  await embedded?.stop();
  await dir?.remove();
});

/** How many documents the store reads for each step, while ever more tasks are open. */
async function costs(engine: TaskEngine, steps: number, keys: readonly string[]): Promise<number[]> {
  const found: number[] = [];
  for (let step = 0; step < steps; step += 1) {
    const before = await documentsRead(embedded.url);
    for (let added = 0; added < STEP; added += 1) await engine.add(idle, { name: 'one', creator: ANN, input: {}, keys });
    found.push((await documentsRead(embedded.url)) - before);
  }
  return found;
}

it('what adding a task costs does not depend on how many are open', async () => {
  const engine = await place.open([idle]);
  for (const cost of await costs(engine, 8, [])) expect(cost).toBeLessThan(MOST);
});

it('nor on how many wait for their turn behind a limit', async () => {
  const engine = await place.open([idle], { limitOfKey: () => 1 });
  for (const cost of await costs(engine, 8, ['tool:slow'])) expect(cost).toBeLessThan(MOST);
});
