import { expect, it } from 'vitest';
import { z } from 'zod';
import { shortError } from './logger.ts';

it('an error is logged in a few thousand characters, however much was wrong', () => {
  const { error } = z.array(z.string()).safeParse(Array(5_000).fill(1));
  expect(error?.message.length).toBeGreaterThan(100_000);
  expect(JSON.stringify(shortError(error ?? new Error())).length).toBeLessThan(10_000);
  expect(JSON.stringify(shortError(new Error('no', { cause: error }))).length).toBeLessThan(20_000);
  expect(shortError(new TypeError('plain'))).toMatchObject({ type: 'TypeError', message: 'plain' });
});
