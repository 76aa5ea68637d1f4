import { createPace } from '@wharf/pace';
import type { UpdateRuleRequest, UpdateRuleResponse } from '@wharf/proto/admin';
import type { Call } from '@wharf/service-kit';
import { createRulesRoom, parseRuleFields, requireKnownUsers } from '../domain/rule.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { RuleStore } from '../store/rule-store.ts';
import type { FindUsers } from './create-rule.ts';
import { required } from './required.ts';

export const updateRule =
  (rules: RuleStore, announceChange: AnnounceChange, findUsers: FindUsers) =>
  async (request: UpdateRuleRequest, { signal }: Pick<Call, 'signal'>): Promise<UpdateRuleResponse> => {
    const given = required(request.rule, 'rule');
    const pace = createPace(signal);
    const all = await rules.list();
    const before = all.find(({ id }) => id === given.id);
    const fields = await parseRuleFields(given, pace, before);
    await requireKnownUsers(fields, new Set([...(before?.read_users ?? []), ...(before?.write_users ?? [])]), findUsers);
    const takeRoom = await createRulesRoom(all, pace);
    takeRoom(fields, given.id);
    await rules.replace(given.id, fields);
    return { revision: await announceChange() };
  };
