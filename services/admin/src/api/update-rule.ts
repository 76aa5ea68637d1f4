import type { UpdateRuleRequest, UpdateRuleResponse } from '@wharf/proto/admin';
import { parseRuleFields } from '../domain/rule.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { RuleStore } from '../store/rule-store.ts';
import { required } from './required.ts';

export const updateRule =
  (rules: RuleStore, announceChange: AnnounceChange) =>
  async (request: UpdateRuleRequest): Promise<UpdateRuleResponse> => {
    const given = required(request.rule, 'rule');
    await rules.replace(given.id, parseRuleFields(given));
    return { revision: await announceChange() };
  };
