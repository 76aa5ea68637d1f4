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
  await asked;
  expect(kept.get('wharf.token')).toBe('new');
  await whoIs('new');
  expect(kept.size).toBe(0);
});

it.each(['this tab', 'another tab'])(
  'a login that ends in %s is used no more, whoever comes next, and before that is known',
  async (where) => {
    vi.resetModules();
    kept.set('wharf.token', 'of ada');
    const told: ((event: { key: string; newValue: null }) => void)[] = [];
    vi.stubGlobal('addEventListener', (_: string, tell: (typeof told)[number]) => told.push(tell));
    const { call, keepToken, viewer } = await import('./api/call.ts');
    const { whoIs } = await import('./who-is.ts');
    const answers = [{ code: 200, data: { id: 1 } }, { code: 200 }, { code: 401 }, { code: 200 }];
    const by: unknown[] = [];
    vi.stubGlobal('fetch', async (_: string, { headers }: { headers: Record<string, string> }) => {
      by.push(headers['Authorization']);
      return Response.json({ message: '', data: null, ...answers.shift() });
    });
    await whoIs('of ada');
    expect(viewer()).toEqual({ token: 'of ada', user: { id: 1 } });
    if (where === 'this tab') keepToken('');
    else for (const tell of told) tell({ key: 'wharf.token', newValue: null });
    expect(viewer().user).toBeUndefined();
    await call('/api/fs/mkdir', { path: '/a' });
    // Guests may not come.
    await whoIs('');
    await call('/api/fs/mkdir', { path: '/b' });
    expect(by).toEqual(['of ada', undefined, undefined, undefined]);
  },
);

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
    return Response.json({ code: 200, message: '', data: { id: 2 } });
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
