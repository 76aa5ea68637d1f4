import { expect, it } from 'vitest';
import { createFairPlaces } from './fair-places.ts';

/** Work of owners, which is written down as it begins and ends when it is told. */
function open(places: number, max = 100) {
  const inTurn = createFairPlaces(places, { max, refusal: 'too much' });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const add = (owner: string, signal?: AbortSignal) =>
    inTurn(
      owner,
      async () => {
        begun.push(owner);
        await new Promise<void>((resolve) => ends.push(resolve));
      },
      signal,
    );
  return { add, begun, endNext: () => ends.shift()?.() };
}

it('one has all places but one, and the others have their turns', async () => {
  const { add, begun, endNext } = open(3);
  const work = ['eve', 'eve', 'eve', 'eve', 'bob', 'bob'].map((owner) => add(owner));
  await expect.poll(() => begun).toEqual(['eve', 'eve', 'bob']);
  for (let ended = 1; ended <= work.length; ended += 1) {
    endNext();
    await expect.poll(() => begun.length).toBe(Math.min(3 + ended, work.length));
  }
  expect(begun).toHaveLength(6);
  await Promise.all(work);
});

it('who gives up waiting ends at once, and leaves the place to the next', async () => {
  const { add, begun, endNext } = open(2);
  const gone = new AbortController();
  const first = add('eve');
  const given = add('eve', gone.signal);
  const last = add('eve');
  gone.abort(new Error('gone'));
  await expect(given).rejects.toThrow('gone');
  await expect(add('eve', gone.signal)).rejects.toThrow('gone');
  expect(begun).toEqual(['eve']);
  endNext();
  await first;
  await expect.poll(() => begun).toEqual(['eve', 'eve']);
  endNext();
  await last;
});

it('who gives up before or in the moment of a turn leaves the place', async () => {
  const inTurn = createFairPlaces(2);
  const gone = new AbortController();
  const inTheMoment = inTurn('eve', async () => {}, gone.signal).catch(() => {});
  gone.abort(new Error('gone'));
  await inTheMoment;
  await expect(inTurn('eve', async () => {}, gone.signal)).rejects.toThrow('gone');
  const both = Promise.withResolvers<void>();
  const eve = inTurn('eve', () => both.promise);
  await inTurn('bob', async () => both.resolve());
  await eve;
});

it('too much of one is refused, and of nobody else', async () => {
  const { add, begun } = open(2, 1);
  void add('eve');
  void add('eve');
  await expect(add('eve')).rejects.toMatchObject({ code: 'OVERLOADED', message: 'too much' });
  void add('bob');
  await expect.poll(() => begun).toEqual(['eve', 'bob']);
});
