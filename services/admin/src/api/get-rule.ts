import type { GetRuleRequest, GetRuleResponse } from '@wharf/proto/admin';
import { shadowedBy } from '../domain/rule.ts';
import { type RuleStore, unknownRule } from '../store/rule-store.ts';

export const getRule =
  (rules: RuleStore) =>
  async ({ id }: GetRuleRequest): Promise<GetRuleResponse> => {
    const all = await rules.list();
    const rule = all.find((each) => each.id === id);
    if (!rule) throw unknownRule();
    return { rule: { ...rule, shadows: shadowedBy(rule.path, new Set(all.map(({ path }) => path))) } };
  };
