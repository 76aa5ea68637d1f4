import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { createPace, forOwner, outsideCalls, ownerNow } from './pace.ts';

/** Keeps the thread for longer than a slice. */
function work(): void {
  const until = performance.now() + 6;
  while (performance.now() < until);
}

it('lets others take a turn once a slice is over', async () => {
  let turns = 0;
  setImmediate(() => {
    turns += 1;
  });
  const pace = createPace();
  await pace.step();
  expect(turns).toBe(0);
  work();
  await pace.step();
  expect(turns).toBe(1);
});

it.each([5, 10, 20])('of %i that have had their slice each goes on in a turn of its own', async (count) => {
  let turn = 0;
  let isOver = false;
  const next = () => {
    turn += 1;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  const paces = Array.from({ length: count }, () => createPace());
  work();
  const taken = await Promise.all(paces.map((pace) => pace.step().then(() => turn)));
  isOver = true;
  expect(new Set(taken).size).toBe(count);
});

it('has owners go on by turns, however much of others has had its slice before', async () => {
  const taken: string[] = [];
  const paceOf = (owner: string) => forOwner(owner, () => createPace());
  const paces = [...Array.from({ length: 20 }, () => 'many'), 'one'].map((owner) => ({ owner, pace: paceOf(owner) }));
  work();
  const steps = paces.map(({ owner, pace }) => pace.step().then(() => taken.push(owner)));
  await steps.at(-1);
  expect(taken.length).toBeLessThan(4);
  await Promise.all(steps);
  expect(taken).toHaveLength(21);
});

it.each([
  [undefined, 'CANCELLED'],
  [new AppError('DEADLINE_EXCEEDED', 'too late'), 'DEADLINE_EXCEEDED'],
])('ends what nobody waits for any more (%s)', async (reason, code) => {
  const gone = new AbortController();
  const pace = createPace(gone.signal);
  gone.abort(reason);
  work();
  await expect(pace.step()).rejects.toMatchObject({ code });
});

it('what is done for all is no work of whoever began it, nor is what comes of it later', async () => {
  const owners: string[] = [];
  await forOwner('user 3', () =>
    outsideCalls(async () => {
      owners.push(ownerNow());
      await Promise.resolve();
      owners.push(ownerNow());
    }),
  );
  expect(owners).toEqual(['', '']);
});
