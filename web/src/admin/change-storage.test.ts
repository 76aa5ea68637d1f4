import { expect, it, vi } from 'vitest';
import { call } from '../api/call.ts';
import { changeStorage } from './change-storage.ts';

vi.mock('../api/call.ts', () => ({ call: vi.fn() }));

it('a storage is saved as it is by now, with what is changed', async () => {
  const renewed = { id: 7, order: 3, remark: 'r', addition: '{"oauth_token":"second"}' };
  const asked: unknown[] = [];
  vi.mocked(call).mockImplementation(async (path: string, input: unknown) => {
    asked.push([path, input]);
    return (path.endsWith('/get') ? renewed : null) as never;
  });
  await changeStorage(7, ({ order }) => ({ order: order + 1 }));
  expect(asked).toEqual([
    ['/api/admin/storage/get', { id: 7 }],
    ['/api/admin/storage/update', { ...renewed, order: 4 }],
  ]);
});
