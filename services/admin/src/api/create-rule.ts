import { createPace } from '@wharf/pace';
import type { CreateRuleRequest, CreateRuleResponse } from '@wharf/proto/admin';
import type { Call } from '@wharf/service-kit';
import { createRulesRoom, parseRuleFields, requireKnownUsers } from '../domain/rule.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { Counters } from '../store/counters.ts';
import { insertWithId } from '../store/insert-with-id.ts';
import type { RuleStore } from '../store/rule-store.ts';
import { required } from './required.ts';

/** Those of the ids that are users. */
export type FindUsers = (ids: readonly number[]) => Promise<ReadonlySet<number>>;

export const createRule =
  (rules: RuleStore, counters: Counters, announceChange: AnnounceChange, findUsers: FindUsers) =>
  async (request: CreateRuleRequest, { signal }: Pick<Call, 'signal'>): Promise<CreateRuleResponse> => {
    const given = required(request.rule, 'rule');
    const pace = createPace(signal);
    const fields = await parseRuleFields(given, pace);
    await requireKnownUsers(fields, new Set(), findUsers);
    const takeRoom = await createRulesRoom(await rules.list(), pace);
    takeRoom(fields, undefined);
    const id = await insertWithId(counters, 'rules', given.id, (free) => rules.insert(free, fields));
    return { id, revision: await announceChange() };
  };
