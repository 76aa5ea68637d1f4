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

it('until it is known whose the login is that another tab got, calls go by that of whom the page is shown to', async () => {
  const told: ((event: { key: string; newValue: string }) => void)[] = [];
  vi.stubGlobal('addEventListener', (_: string, tell: (typeof told)[number]) => told.push(tell));
  vi.stubGlobal('localStorage', { getItem: () => 'of ada' });
  vi.resetModules();
  const { call } = await import('./api/call.ts');
  const { whoIs } = await import('./who-is.ts');
  const answer = Promise.withResolvers<void>();
  const by: unknown[] = [];
  vi.stubGlobal('fetch', async (address: string, { headers }: { headers: Record<string, string> }) => {
    by.push([address, headers['Authorization']]);
    if (address === '/api/me') await answer.promise;
    return Response.json({ code: 200, message: '', data: {} });
  });
  for (const tell of told) tell({ key: 'wharf.token', newValue: 'of bea' });
  const asked = whoIs('of bea');
  await call('/api/fs/mkdir', { path: '/mine' });
  answer.resolve();
  await asked;
  await call('/api/fs/mkdir', { path: '/hers' });
  expect(by).toEqual([
    ['/api/me', 'of bea'],
    ['/api/fs/mkdir', 'of ada'],
    ['/api/fs/mkdir', 'of bea'],
  ]);
  vi.unstubAllGlobals();
});
