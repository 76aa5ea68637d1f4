import { startServices } from '@wharf/harness';
import { afterAll, describe } from 'vitest';
import { SCENARIOS } from './scenarios/all-scenarios.ts';
import { openWorld } from './support/world.ts';

const world = await openWorld(startServices);
afterAll(() => world.close());

describe('five processes', () => {
  for (const scenario of SCENARIOS) scenario(world);
});
