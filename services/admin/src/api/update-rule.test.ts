import { expect, it } from 'vitest';
import { ruleFields } from '../domain/testing/fields.ts';
import { updateRule } from './update-rule.ts';

it('a rule whose patterns an earlier version took may get a password', async () => {
  const stored = { ...ruleFields({ hide: '(?i)(?:[a-k]?[a-z0-9]){60}\n'.repeat(200) }), id: 1 };
  const written: unknown[] = [];
  const store = { list: async () => [stored], replace: async (...given: unknown[]) => void written.push(given) };
  const update = updateRule(
    store as never,
    async () => 7,
    async () => new Set(),
  );
  const call = { signal: new AbortController().signal };
  const changed = { ...stored, password: 'x', shadows: [] };
  expect(await update({ rule: changed }, call)).toEqual({ revision: 7 });
  expect(written).toEqual([[1, expect.objectContaining({ password: 'x', hide: stored.hide })]]);
  const refused = { code: 'INVALID_ARGUMENT', message: expect.stringContaining('with the patterns before it') };
  await expect(update({ rule: { ...changed, hide: `${stored.hide}x` } }, call)).rejects.toMatchObject(refused);
});
