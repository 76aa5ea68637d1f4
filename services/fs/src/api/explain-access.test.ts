import { expect, it } from 'vitest';
import type { FsContext } from '../context.ts';
import { createRuleBook } from '../domain/access/rule-book.ts';
import { ruleRecord } from '../domain/testing/records.ts';
import { explainAccessHandler } from './explain-access.ts';

it('a rule whose patterns an earlier version took is explained with another change, and with no more patterns', async () => {
  const stored = ruleRecord({ _id: 1, path: '/a', hide: '(?i)(?:[a-k]?[a-z0-9]){60}\n'.repeat(20) });
  const snapshot = { rules: createRuleBook([stored]) };
  const context = { configuration: { knownSnapshot: async () => snapshot } } as unknown as FsContext;
  const call = { revisions: {}, identity: { kind: 'user', id: 1, role: 2, permission: 0, basePath: '/' } };
  const explain = (hide: string) => {
    const { _id: id, ...rest } = { ...stored, hide, password: 'x' };
    return explainAccessHandler(context)({ path: '/a', subjects: [], rule: { ...rest, id } } as never, call as never);
  };
  expect(await explain(stored.hide)).toEqual({ subjects: [] });
  await expect(explain(`${stored.hide}x`)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

it('what people may do is told where the base path of one of them is none', async () => {
  const context = { configuration: { knownSnapshot: async () => ({ rules: createRuleBook([]) }) } } as unknown as FsContext;
  const call = { revisions: {}, identity: { kind: 'user', id: 1, role: 2, permission: 0, basePath: '/' } };
  const subjects = ['/', '/../b', '/c'].map((base_path, index) => ({ id: index + 3, role: 0, permission: 0, base_path }));
  const told = await explainAccessHandler(context)({ path: '/c', subjects } as never, call as never);
  expect(told.subjects.map(({ id }) => id)).toEqual([3, 5]);
});
