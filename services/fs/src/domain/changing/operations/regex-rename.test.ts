import { countTurns } from '@wharf/harness';
import { RE2JS } from 're2js';
import { expect, it, onTestFinished, vi } from 'vitest';
import { actor, openTree } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { regexRename } from './regex-rename.ts';

/** The costliest kind of pattern that is taken; it matches no name without `!` or `?`. */
const COSTLY = '(?:[a-z]?[a-y]?){70}[!?]';

it('C19: a costly pattern over many names leaves room for other work, and ends with its caller', async () => {
  const memory = await openTree({});
  for (let number = 0; number < 100; number += 1) await memory.put(`/d/${'az'.repeat(120)}${number}`, '');
  const request = { src_dir: '/d', src_name_regex: COSTLY, new_name_regex: 'x' };
  const turns = countTurns();
  await regexRename(memory.operation(), request);
  turns.stop();
  expect(turns.count()).toBeGreaterThan(10);

  const gone = new AbortController();
  setImmediate(() => gone.abort());
  expect((await refusalOf(regexRename(memory.operation(actor(), gone.signal), request)))[0]).toBe('CANCELLED');
}, 60_000);

it('C19: patterns that are compiled at once do so in turns of their own', async () => {
  const memory = await openTree({});
  await memory.put('/d/x', '');
  let turn = 0;
  let isOver = false;
  const nextTurn = () => {
    turn += 1;
    if (!isOver) setImmediate(nextTurn);
  };
  setImmediate(nextTurn);
  const turns: number[] = [];
  const original = RE2JS.compile;
  const compile = vi.spyOn(RE2JS, 'compile').mockImplementation((...given) => {
    turns.push(turn);
    const until = performance.now() + 6;
    while (performance.now() < until);
    return original.apply(RE2JS, given);
  });
  onTestFinished(() => compile.mockRestore());
  await Promise.all(
    [1, 2, 3, 4].map((number) => regexRename(memory.operation(), { src_dir: '/d', src_name_regex: `none${number}`, new_name_regex: '' })),
  );
  isOver = true;
  expect(new Set(turns).size).toBe(4);
});
