import type { DeleteRuleRequest, DeleteRuleResponse } from '@wharf/proto/admin';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { RuleStore } from '../store/rule-store.ts';

export const deleteRule =
  (rules: RuleStore, announceChange: AnnounceChange) =>
  async ({ id }: DeleteRuleRequest): Promise<DeleteRuleResponse> => {
    await rules.remove(id);
    return { revision: await announceChange() };
  };
