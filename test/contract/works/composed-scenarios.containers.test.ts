import { afterAll, describe } from 'vitest';
import { SCENARIOS } from '../../e2e/scenarios/all-scenarios.ts';
import { openWorld } from '../../e2e/support/world.ts';
import { startComposedWharf } from '../support/composed-wharf.ts';

// They are for gateways without a built page.
const world = await openWorld(startComposedWharf, { env: { WHARF_WEB_DIR: '' } });
afterAll(() => world.close());

describe('three gateways and two fs in containers, behind a balancer without sticky sessions', () => {
  for (const scenario of SCENARIOS) scenario(world);
});
