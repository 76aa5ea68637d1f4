import type { ListRulesRequest, ListRulesResponse } from '@wharf/proto/admin';
import { pageOf } from '../domain/page-of.ts';
import { shadowedBy } from '../domain/rule.ts';
import type { RuleStore } from '../store/rule-store.ts';

export const listRules =
  (rules: RuleStore) =>
  async ({ page, per_page }: ListRulesRequest): Promise<ListRulesResponse> => {
    const all = await rules.list();
    const paths = new Set(all.map(({ path }) => path));
    const { content, total } = pageOf(all, page, per_page);
    return { content: content.map((rule) => ({ ...rule, shadows: shadowedBy(rule.path, paths) })), total };
  };
