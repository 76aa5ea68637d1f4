import { afterAll, expect, it, vi } from 'vitest';

vi.stubGlobal('localStorage', { getItem: () => null });
vi.stubGlobal('addEventListener', () => undefined);
const { putText } = await import('./send-bytes.ts');

afterAll(() => void vi.unstubAllGlobals());

it.each([
  ['"tag"', '"tag"'],
  ['W/"tag"', '"tag"'],
  [undefined, ''],
])('of a text that was put with the ETag %s the next save tells %s', async (told, tag) => {
  vi.stubGlobal('fetch', async () =>
    Response.json({ code: 200, message: '', data: null }, told === undefined ? {} : { headers: { ETag: told } }),
  );
  expect(await putText({}, 'text')).toBe(tag);
});
