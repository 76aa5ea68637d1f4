import type { TaskModels } from '@wharf/models';
import { expect, it } from 'vitest';
import { updateEach } from './update-each.ts';

const UPDATES = [{ filter: { _id: 'a' }, update: { $set: { state: 1 } } }];
const deadlock = (matchedCount: number) => Object.assign(new Error('deadlock detected'), { matchedCount });

/** An engine whose answers are these: no real one gives up a request when it is told to. */
function engine(...answers: (Error | number)[]) {
  const bulkWrite = async () => {
    const answer = answers.shift();
    if (typeof answer !== 'number') throw answer;
    return { matchedCount: answer };
  };
  return { tasks: { collection: { bulkWrite } } as unknown as TaskModels['tasks'], answers };
}

it('a request that the engine gave up for another one is made again', async () => {
  expect(await updateEach(engine(deadlock(0), deadlock(0), 1).tasks, UPDATES)).toBe(1);
});

it('one that was done in part, failed otherwise, or is given up again and again, fails', async () => {
  const inPart = engine(deadlock(1), 1);
  await expect(updateEach(inPart.tasks, UPDATES)).rejects.toThrow('deadlock');
  expect(inPart.answers).toEqual([1]);
  await expect(updateEach(engine(new Error('no'), 1).tasks, UPDATES)).rejects.toThrow('no');
  await expect(updateEach(engine(...Array.from({ length: 5 }, () => deadlock(0)), 1).tasks, UPDATES)).rejects.toThrow('deadlock');
});
