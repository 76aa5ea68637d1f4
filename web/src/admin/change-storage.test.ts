import { expect, it, vi } from 'vitest';
import { call } from '../api/call.ts';
import { changeStorage, editedStorage, openedForm } from './change-storage.ts';
import type { Item } from './item-values.ts';
import type { Storage } from './records.ts';

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

it('what somebody else has changed since a form was opened stays, and what was entered in it is saved', () => {
  const item = (name: string, type: string) => ({ name, type, default: '', required: false }) as Item;
  const driver = {
    common: [item('order', 'number'), item('remark', 'text'), item('web_proxy', 'bool')],
    additional: [item('token', 'string')],
  };
  const saved = { mount_path: '/a', order: 1, remark: 'old', web_proxy: false, addition: '{"token":"first"}' };
  const opened = openedForm(driver, saved as Storage);
  const form = { ...opened, frame: { ...opened.frame, remark: 'new' } };
  const present = { ...saved, order: 2, web_proxy: true, addition: '{"token":"second","kept":1}' } as Storage;
  expect(editedStorage(driver, opened, form, present)).toEqual({
    mount_path: '/a',
    order: 2,
    remark: 'new',
    web_proxy: true,
    addition: '{"token":"second","kept":1}',
  });
});
