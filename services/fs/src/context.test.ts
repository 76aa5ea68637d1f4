import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, vi } from 'vitest';
import { type FsContext, readByRulesOfNow } from './context.ts';
import { createRuleBook } from './domain/access/rule-book.ts';
import { ruleRecord } from './domain/testing/records.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

it('what was read by other rules is not kept while it is read anew', async () => {
  let saved = 0;
  const snapshot = () => ({ rules: createRuleBook([ruleRecord({ password: `${saved}` })]) });
  const context = { configuration: { knownSnapshot: async () => snapshot() } } as unknown as FsContext;
  const call = { revisions: {}, identity: { kind: 'user', id: 1, role: 0, permission: 0, basePath: '/' } } as never;
  const now = vi.spyOn(performance, 'now');
  const answers: WeakRef<object>[] = [];
  const held: boolean[] = [];
  const answer = await readByRulesOfNow(context, call, async () => {
    await new Promise(setImmediate);
    collect();
    held.push(...answers.slice(-1).map((each) => each.deref() !== undefined));
    now.mockReturnValue(10_000 * (saved + 1));
    if (saved < 2) saved += 1;
    const made = { entries: new Array(1_000).fill(0) };
    answers.push(new WeakRef(made));
    return made;
  });
  now.mockRestore();
  expect(answer.entries).toHaveLength(1_000);
  expect(held.length).toBeGreaterThan(0);
  expect(held).not.toContain(true);
});
