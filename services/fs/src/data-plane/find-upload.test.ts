import { setImmediate } from 'node:timers/promises';
import { LONG_TEXT_LETTERS } from '@wharf/service-kit';
import { expect, it } from 'vitest';
import { findUpload } from './find-upload.ts';

it.each([
  [LONG_TEXT_LETTERS + 1, 1],
  [LONG_TEXT_LETTERS, 3],
])('of requests about uploads with a path of %d letters %d goes on in a turn of the event loop', async (length, atOnce) => {
  const uploads = { find: async () => ({ path: 'a'.repeat(length) }) };
  let found = 0;
  const asked = { uploads, operation: {}, call: { signal: new AbortController().signal } } as never;
  const looks = Array.from({ length: 3 }, () => findUpload(asked, 'id').then(() => (found += 1)));
  await setImmediate();
  expect(found).toBeLessThanOrEqual(atOnce);
  expect(found).toBeGreaterThan(atOnce - 2);
  await Promise.all(looks);
});
