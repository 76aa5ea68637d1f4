import { expect, it } from 'vitest';
import { AnswerAsJson } from '../api/route.ts';
import { writeJson } from './write-json.ts';

/** Counts the turns that are offered to others. */
function countingPace() {
  let steps = 0;
  const step = async () => {
    steps += 1;
  };
  return { step, steps: () => steps };
}
const list = (length: number) => Array.from({ length }, (_, index) => ({ name: `é${index}`, list: [index], none: undefined }));
const textOf = async (value: unknown) => (await writeJson(value, countingPace())).join('');

it.each([
  ['nothing', { code: 200, message: 'success', data: null }],
  ['a short list', { data: list(3) }],
  ['a long list', { code: 200, data: list(1_001) }],
  ['a long list in a field', { code: 200, data: { first: 1, content: list(1_001), left: undefined, total: 1_001 } }],
  ['two long lists', { data: { a: list(501), b: list(1_500), c: [] } }],
  ['a long list far below', { data: { a: { b: { c: list(600) } } } }],
  ['holes and dates', { data: [...Array.from({ length: 600 }, () => undefined), new Date(0), Number.NaN] }],
])('says of %s what JSON.stringify says', async (_what, value) => {
  expect(await textOf(value)).toBe(JSON.stringify(value));
});

it('puts in place what is written already', async () => {
  expect(await textOf({ code: 200, data: new AnswerAsJson(['{"a":', Buffer.from('[1,"é"]'), '}']) })).toBe(
    '{"code":200,"data":{"a":[1,"é"]}}',
  );
});

it('writes a bounded number of elements between two turns of others, however long the list is', async () => {
  for (const length of [10_000, 20_000, 40_000]) {
    const pace = countingPace();
    const pieces = await writeJson({ data: { content: list(length) } }, pace);
    expect(pace.steps()).toBeGreaterThanOrEqual(length / 500);
    expect(Math.max(...pieces.map((piece) => String(piece).split('"name"').length - 1))).toBe(500);
  }
});

it('keeps long lists as bytes, and nothing long beside them', async () => {
  const pieces = await writeJson({ data: { content: list(1_000) } }, countingPace());
  expect(pieces.filter((piece) => typeof piece === 'string').join('')).toBe('{"data":{"content":]}}');
});
