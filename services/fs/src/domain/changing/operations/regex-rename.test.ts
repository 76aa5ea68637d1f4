import { expect, it } from 'vitest';
import { actor, openTree } from '../../testing/memory-tree.ts';
import { refusalOf } from '../../testing/refusal.ts';
import { regexRename } from './regex-rename.ts';

/** The costliest kind of pattern that is taken; it matches no name without `!` or `?`. */
const COSTLY = '(?:[a-z]?[a-y]?){70}[!?]';

it('C19: a costly pattern over many names leaves room for other work, and ends with its caller', async () => {
  const memory = await openTree({});
  for (let number = 0; number < 100; number += 1) await memory.put(`/d/${'az'.repeat(120)}${number}`, '');
  const request = { src_dir: '/d', src_name_regex: COSTLY, new_name_regex: 'x' };
  let turns = 0;
  let isOver = false;
  const takeTurns = () => {
    turns += 1;
    if (!isOver) setImmediate(takeTurns);
  };
  setImmediate(takeTurns);
  await regexRename(memory.operation(), request);
  isOver = true;
  expect(turns).toBeGreaterThan(10);

  const gone = new AbortController();
  setImmediate(() => gone.abort());
  expect((await refusalOf(regexRename(memory.operation(actor(), gone.signal), request)))[0]).toBe('CANCELLED');
}, 60_000);
