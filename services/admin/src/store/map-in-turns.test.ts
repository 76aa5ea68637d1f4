import { countTurns } from '@wharf/harness';
import { seal, unseal } from '@wharf/service-kit';
import { expect, it } from 'vitest';
import { mapInTurns } from './map-in-turns.ts';

it('opens the secrets of very many records in turns', async () => {
  const key = Buffer.alloc(32);
  const sealed = Array.from({ length: 20_000 }, () => seal(key, '{}'));
  const turns = countTurns();
  const opened = await mapInTurns(sealed, (each) => unseal(key, each));
  turns.stop();
  expect([opened.length, opened.at(-1)]).toEqual([20_000, '{}']);
  expect(turns.count()).toBeGreaterThan(5);
});
