import { startStandalone } from '@wharf/harness';
import { afterAll, describe } from 'vitest';
import { SCENARIOS } from './scenarios/all-scenarios.ts';
import { openWorld } from './support/world.ts';

const world = await openWorld(startStandalone);
afterAll(() => world.close());

describe('standalone', () => {
  for (const scenario of SCENARIOS) scenario(world);
});
