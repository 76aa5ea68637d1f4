import { boundsOf, sliceOf } from '@wharf/pace';
import type { ListRulesRequest, ListRulesResponse } from '@wharf/proto/admin';
import { shadowedBy } from '../domain/rule.ts';
import type { RuleStore } from '../store/rule-store.ts';

export const listRules =
  (rules: RuleStore) =>
  async ({ page, per_page }: ListRulesRequest): Promise<ListRulesResponse> => {
    const all = await rules.list();
    const paths = new Set(all.map(({ path }) => path));
    const { start, end } = boundsOf(sliceOf(page, per_page), all.length);
    const content = all.slice(start, end).map((rule) => ({ ...rule, shadows: shadowedBy(rule.path, paths) }));
    return { content, total: all.length };
  };
