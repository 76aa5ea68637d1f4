import { expect, it } from 'vitest';
import { waitFor } from './wait-for.ts';

it('answers the first value that is there', async () => {
  const answers = [undefined, false, null, 0];
  expect(await waitFor('a value', () => answers.shift(), { everyMs: 1 })).toBe(0);
});

it('fails at the deadline with what was waited for and the last error', async () => {
  const failing = waitFor(
    'a miracle',
    () => {
      throw new Error('not today');
    },
    { withinMs: 30, everyMs: 5 },
  );
  await expect(failing).rejects.toThrow('waited 30 ms in vain for a miracle');
  await expect(failing).rejects.toMatchObject({ cause: { message: 'not today' } });
});
