import { expect, test } from 'vitest';
import { runKillChaos } from './support/kill-chaos.ts';

/** Many more: `npm run soak -- kills`. */
const KILLS = 2;

test.each(['standalone', 'services'] as const)(
  '%s that is killed loses nothing acknowledged and leaves nothing',
  { timeout: 400_000 },
  async (shape) => {
    const { faults, debris, acknowledged } = await runKillChaos({ shape, kills: KILLS, tell: () => {} });
    expect({ faults, debris }).toEqual({ faults: [], debris: [] });
    expect(
      Object.values(acknowledged).every((count) => count > 0),
      JSON.stringify(acknowledged),
    ).toBe(true);
  },
);
