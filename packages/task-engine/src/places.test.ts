import { expect, it } from 'vitest';
import { createPlaces } from './places.ts';

const COPY = 'copy';

/** Five places of which one user has four. */
function open({ mayRunAhead = true } = {}) {
  let nowMs = 0;
  const begun: string[] = [];
  const places = createPlaces({ shareOf: (all) => all - 1, mayRunAhead, onRoom: () => {}, nowMs: () => nowMs });
  places.room(COPY, 5);
  const add = (name: string, creator = 1, isSmall = false) => {
    const place = places.add({ kind: COPY, creator_id: creator }, isSmall);
    void place.free.then(() => begun.push(name));
    return place;
  };
  return {
    begun,
    places,
    add,
    /** So many tasks come and end at once. */
    endSome(count: number) {
      for (let index = 0; index < count; index += 1) add('quick').leave();
      begun.length = 0;
    },
    pass: (ms: number) => (nowMs += ms),
  };
}
const settled = () => new Promise(setImmediate);

it('tasks are claimed for the places that there are, as long as none has ended lately', () => {
  const { places, add } = open();
  expect(places.room(COPY, 5)).toBe(5);
  for (let index = 0; index < 4; index += 1) add('task');
  expect(places.room(COPY, 5)).toBe(1);
  expect(places.limits(COPY).closed).toEqual([1]);
  expect(places.limits('move').closed).toEqual([]);
});

it('as many more are claimed as have ended lately, half of them at once, and they begin in order when places are left', async () => {
  const { places, add, begun, endSome } = open();
  endSome(6);
  await settled();
  begun.length = 0;
  expect([places.room(COPY, 5), places.limits(COPY)]).toEqual([11, { closed: [], most: 10 }]);
  const [first] = [...'abcdefgh'].map((name) => add(name));
  await settled();
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
  // Four wait, which is more than half of six. The fifth place is another user's.
  expect([places.room(COPY, 5), places.limits(COPY).closed]).toEqual([1, [1]]);
  first?.leave();
  first?.leave();
  await settled();
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
  // Seven ended lately by now, seven are here.
  expect(places.room(COPY, 5)).toBe(5);
});

it('quick tasks of one user let no more be claimed of another, whose tasks take long, and hold up nobody', () => {
  const [ann, bob] = [1, 2];
  const { places, add } = open();
  for (let index = 0; index < 4; index += 1) add('long', ann);
  for (let index = 0; index < 6; index += 1) add('quick', bob).leave();
  expect(places.limits(COPY).closed).toEqual([ann]);
  // Claimed before that was known.
  for (let index = 0; index < 4; index += 1) add('long', ann);
  expect(places.room(COPY, 5)).toBe(1);
  expect(places.limits(COPY).closed).toEqual([ann]);
});

it('nobody waits for a place behind a user who has the share', async () => {
  const { add, begun, endSome } = open();
  endSome(16);
  await settled();
  begun.length = 0;
  for (const name of 'abcdefgh') add(name);
  add('of another', 2);
  await settled();
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'of another']);
});

it('where tasks take longer none is claimed ahead', () => {
  const { places, endSome, pass } = open();
  endSome(40);
  expect(places.room(COPY, 5)).toBe(5 + 16);
  pass(100);
  expect(places.room(COPY, 5)).toBe(5);
});

it('where keys have limits none is claimed ahead, and each by itself', () => {
  const { places, endSome } = open({ mayRunAhead: false });
  endSome(16);
  expect([places.room(COPY, 5), places.limits(COPY).most]).toEqual([5, 1]);
});

it('a task that leaves before its turn has ended nothing, and the next one has its place', async () => {
  const { places, add, begun, endSome } = open();
  endSome(2);
  await settled();
  begun.length = 0;
  const [, , , , fifth] = [...'abcde'].map((name) => add(name));
  const isAwaited = fifth?.isAwaited();
  fifth?.leave();
  await settled();
  expect([isAwaited, begun, places.room(COPY, 5)]).toEqual([true, ['a', 'b', 'c', 'd'], 5 + 2 - 4]);
});

it('four small tasks have one place together, within the share of their user', async () => {
  const { places, add, begun } = open();
  const small = (name: string, creator?: number) => add(name, creator, true);
  const all = Array.from({ length: 18 }, (_, index) => small(`${index}`));
  await settled();
  expect(begun).toHaveLength(16);
  // The fifth place is another user's.
  expect([places.room(COPY, 5), places.limits(COPY).closed]).toEqual([1, [1]]);
  for (const name of 'abcde') small(name, 2);
  await settled();
  expect(begun.slice(16)).toEqual(['a', 'b', 'c', 'd']);
  expect(places.room(COPY, 5)).toBe(0);
  all[0]?.leave();
  await settled();
  expect(begun.slice(20)).toEqual(['16']);
});

it('a task that needs a whole place waits for one, and is not passed by small ones of its user, nor by any where no place is left', async () => {
  const { add, begun } = open();
  const small = (name: string, creator?: number) => add(name, creator, true);
  const first = Array.from({ length: 13 }, (_, index) => small(`${index}`));
  await settled();
  begun.length = 0;
  add('whole');
  small('behind it');
  small('of another', 2);
  await settled();
  expect(begun).toEqual(['of another']);
  first[0]?.leave();
  await settled();
  expect(begun).toEqual(['of another', 'whole']);
  const other = add('whole of another', 2);
  small('of a third', 3);
  await settled();
  expect(begun).toEqual(['of another', 'whole']);
  other.leave();
  await settled();
  expect(begun).toEqual(['of another', 'whole', 'of a third']);
});
