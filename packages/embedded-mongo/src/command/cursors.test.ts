import { Int32, Long } from 'bson';
import { expect, it } from 'vitest';
import { encodeDocument } from '../bson/decode.ts';
import { type Batch, Cursors } from './cursors.ts';
import { TimeLimit } from './time-limit.ts';

/** How many documents are looked at in 25 ms, where each takes a millisecond. */
const IN_A_TURN = 26;

/** Documents of which only every `shown`th is in the result; each look takes a millisecond. */
function openResult(count: number, shown: number, batchSize: number | undefined, isSingleBatch = false) {
  let nowMs = 0;
  let looks = 0;
  function* documents() {
    for (let index = 1; index <= count; index += 1) {
      nowMs += 1;
      looks += 1;
      yield index % shown === 0 ? encodeDocument({ _id: new Int32(index) }) : undefined;
    }
  }
  const cursors = new Cursors(() => nowMs);
  const first = cursors.open('test.things', documents(), new TimeLimit(0), batchSize, isSingleBatch);
  const next = ({ id }: Batch) => cursors.next(id, 'test.things', batchSize);
  return { first, next, looks: () => looks };
}

it('a batch ends when its time is over, be it empty, and the next ones bring the rest', () => {
  const { first, next, looks } = openResult(100, 40, undefined);
  expect([first.documents.length, first.id.isZero(), looks()]).toEqual([0, false, IN_A_TURN]);
  const sizes = [];
  let batch = first;
  while (!batch.id.isZero()) {
    const before = looks();
    batch = next(batch);
    sizes.push(batch.documents.length);
    expect(looks() - before).toBeLessThanOrEqual(IN_A_TURN);
  }
  expect(sizes).toEqual([1, 0, 1]);
});

it('a batch that is full ends before its time, and a result that is looked through is known to be over', () => {
  const { first, next } = openResult(10, 1, 4);
  const second = next(first);
  const third = next(second);
  expect([first, second, third].map(({ documents }) => documents.length)).toEqual([4, 4, 2]);
  expect([first, second, third].map(({ id }) => id.isZero())).toEqual([false, false, true]);
});

it('what must come in one batch does, however long that takes', () => {
  const { first } = openResult(100, 50, undefined, true);
  expect(first).toMatchObject({ id: Long.ZERO, documents: { length: 2 } });
});
