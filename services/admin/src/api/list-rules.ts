import { boundsOf, createPace, sliceOf } from '@wharf/pace';
import type { ListRulesRequest, ListRulesResponse } from '@wharf/proto/admin';
import type { Call } from '@wharf/service-kit';
import { shadowedBy } from '../domain/rule.ts';
import type { RuleStore } from '../store/rule-store.ts';

export const listRules =
  (rules: RuleStore) =>
  async ({ page, per_page }: ListRulesRequest, { signal }: Pick<Call, 'signal'>): Promise<ListRulesResponse> => {
    const all = await rules.list();
    const paths = new Set(all.map(({ path }) => path));
    const { start, end } = boundsOf(sliceOf(page, per_page), all.length);
    const content: ListRulesResponse['content'] = [];
    const pace = createPace(signal);
    for (const rule of all.slice(start, end)) {
      await pace.step();
      content.push({ ...rule, shadows: shadowedBy(rule.path, paths) });
    }
    return { content, total: all.length };
  };
