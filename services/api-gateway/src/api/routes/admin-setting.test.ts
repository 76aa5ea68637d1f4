import { expect, it, vi } from 'vitest';
import type { AnyContext } from '../route.ts';
import { adminSettingRoutes } from './admin-setting.ts';

it('asks for a few groups of settings at once, and not for what a body has room for', async () => {
  const listDefaultSettings = vi.fn(async () => ({ items: [] }));
  const context = { caller: {}, peers: { admin: { listDefaultSettings } } } as unknown as AnyContext;
  const ask = (groups: string) =>
    adminSettingRoutes
      .find(({ path }) => path === '/api/admin/setting/default')
      ?.prepare({ query: '', body: { kind: 'json', value: { groups } } })(context);
  expect(await ask('1, 2')).toEqual([]);
  expect(listDefaultSettings).toHaveBeenCalledWith({ groups: [1, 2] }, undefined);
  await expect(ask('1,'.repeat(1_000))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: 'no more than 100 groups at once' });
});
