import { expect, it, vi } from 'vitest';

const kept = new Map([['wharf.token', 'old']]);
vi.stubGlobal('localStorage', {
  getItem: (key: string) => kept.get(key) ?? null,
  setItem: (key: string, value: string) => void kept.set(key, value),
  removeItem: (key: string) => void kept.delete(key),
});
vi.stubGlobal('addEventListener', () => undefined);
vi.resetModules();
const { keepToken } = await import('./api/call.ts');
const { whoIs } = await import('./who-is.ts');

it('a login that has ended is forgotten, and not the one that came while that was asked', async () => {
  const answer = Promise.withResolvers<Response>();
  vi.stubGlobal('fetch', async () => (await answer.promise).clone());
  const asked = whoIs('old');
  keepToken('new');
  answer.resolve(Response.json({ code: 401, message: 'token is invalidated', data: null }));
  expect(await asked).toBeUndefined();
  expect(kept.get('wharf.token')).toBe('new');
  expect(await whoIs('new')).toBeUndefined();
  expect(kept.size).toBe(0);
  vi.unstubAllGlobals();
});
