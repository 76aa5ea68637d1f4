import { collectGarbage } from '@wharf/pace';
import { expect, it, onTestFinished, vi } from 'vitest';
import { beginOperation, type FsContext, readByRulesOfNow } from './context.ts';
import { createRuleBook } from './domain/access/rule-book.ts';
import { ruleRecord } from './domain/testing/records.ts';

it('the rights of a call that has waited for its turn are those of its beginning', async () => {
  const context = { configuration: { snapshot: async () => ({}) } } as unknown as FsContext;
  const call = { revisions: {}, identity: { kind: 'user', id: 1, role: 0, permission: 0, basePath: '/' }, cameAtMs: 5 } as never;
  expect((await beginOperation(context, call)).askedAtMs).toBe(5);
});

it('what was read by other rules is not kept while it is read anew', async () => {
  let saved = 0;
  const snapshot = () => ({ rules: createRuleBook([ruleRecord({ password: `${saved}` })]) });
  const context = { configuration: { knownSnapshot: async () => snapshot() } } as unknown as FsContext;
  const call = { revisions: {}, identity: { kind: 'user', id: 1, role: 0, permission: 0, basePath: '/' } } as never;
  let nowMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  const answers: WeakRef<object>[] = [];
  const held: boolean[] = [];
  const answer = await readByRulesOfNow(context, call, async () => {
    await new Promise(setImmediate);
    collectGarbage('regular');
    held.push(...answers.slice(-1).map((each) => each.deref() !== undefined));
    nowMs += 10_000;
    if (saved < 2) saved += 1;
    const made = { entries: new Array(1_000).fill(0) };
    answers.push(new WeakRef(made));
    return made;
  });
  expect(answer.entries).toHaveLength(1_000);
  expect(held.length).toBeGreaterThan(0);
  expect(held).not.toContain(true);
});
