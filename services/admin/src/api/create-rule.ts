import type { CreateRuleRequest, CreateRuleResponse } from '@wharf/proto/admin';
import { parseRuleFields } from '../domain/rule.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { Counters } from '../store/counters.ts';
import { insertWithId } from '../store/insert-with-id.ts';
import type { RuleStore } from '../store/rule-store.ts';
import { required } from './required.ts';

export const createRule =
  (rules: RuleStore, counters: Counters, announceChange: AnnounceChange) =>
  async (request: CreateRuleRequest): Promise<CreateRuleResponse> => {
    const given = required(request.rule, 'rule');
    const fields = parseRuleFields(given);
    const id = await insertWithId(counters, 'rules', given.id, (free) => rules.insert(free, fields));
    return { id, revision: await announceChange() };
  };
