import { expect, it, vi } from 'vitest';
import { call } from '../api/call.ts';
import { changeRule, changeUser, type UserFields } from './change-record.ts';
import type { RuleInput } from './records.ts';

vi.mock('../api/call.ts', () => ({ call: vi.fn() }));

/** What is sent where this is saved by now. */
function sentWhere(present: object): unknown[] {
  const sent: unknown[] = [];
  vi.mocked(call).mockImplementation(async (path: string, input: unknown) => {
    if (path.endsWith('/get')) return present as never;
    sent.push([path, input]);
    return null as never;
  });
  return sent;
}

it('a rule that somebody else has closed since its form was opened stays closed when something else of it is saved', async () => {
  const opened = { id: 7, path: '/a', password: '', read_users: [], readme: 'old' } as unknown as RuleInput;
  const closed = { ...opened, password: 'secret', read_users: [3] };
  const sent = sentWhere({ ...closed, shadows: ['/'] });
  await changeRule(opened, { ...opened, readme: 'new' });
  await changeRule(opened, { ...opened, read_users: [4] });
  expect(sent).toEqual([
    ['/api/admin/meta/update', { ...closed, readme: 'new' }],
    ['/api/admin/meta/update', { ...closed, read_users: [4] }],
  ]);
});

it('somebody who was locked out since the form was opened stays so when something else is saved', async () => {
  const opened = { username: 'u', base_path: '/u', permission: 15, disabled: false, quota_bytes: 1 } as UserFields;
  const now = { ...opened, permission: 0, disabled: true };
  const sent = sentWhere({ ...now, id: 5, password: '', otp: true });
  await changeUser(5, opened, { ...opened, quota_bytes: 2 }, '');
  await changeUser(5, opened, { ...opened, disabled: true, permission: 1 }, 'new');
  expect(sent).toEqual([
    ['/api/admin/user/update', { ...now, id: 5, quota_bytes: 2, password: '' }],
    ['/api/admin/user/update', { ...now, id: 5, permission: 1, password: 'new' }],
  ]);
});
