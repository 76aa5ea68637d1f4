import { AppError } from '@wharf/errors';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseJson } from './parse-json.ts';

const parse = (text: string) => parseJson(Buffer.from(text), 'no JSON');
const refusalOf = (text: string): string => {
  try {
    parse(text);
  } catch (error) {
    if (AppError.is(error, 'INVALID_ARGUMENT')) return error.message;
    throw error;
  }
  return 'taken';
};

it('takes what JSON.parse takes, also brackets, commas and quotes inside texts', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(parse(text)).toEqual(JSON.parse(text));
    }),
  );
  const tricky = { 'a",[{': '[[[[,,,,"\\', b: ['\\"', '\\'] };
  expect(parse(JSON.stringify(tricky))).toEqual(tricky);
  expect(parse(JSON.stringify('['.repeat(100_000)))).toHaveLength(100_000);
  expect(refusalOf('{"a": ')).toBe('no JSON');
});

it.each([
  ['arrays', '[', ']'],
  ['objects', '{"a":', '}'],
  ['both', '[{"a":', '}]'],
])('refuses %s that are nested deeper than 64', (_what, open, close) => {
  const levels = open === '[{"a":' ? 2 : 1;
  const nested = (depth: number) => `${open.repeat(depth / levels)}1${close.repeat(depth / levels)}`;
  expect(refusalOf(nested(64))).toBe('taken');
  for (const depth of [66, 132, 264, 700_000]) expect(refusalOf(nested(depth))).toBe('the body is nested too deeply');
  // What follows is not looked at.
  expect(refusalOf(open.repeat(100))).toBe('the body is nested too deeply');
});

it.each([
  ['numbers', '0'],
  ['texts', '""'],
  ['arrays', '[]'],
  ['objects', '{"a":1}'],
])('refuses more than 50,000 values: %s', (_what, value) => {
  const list = (count: number) => `[${Array.from({ length: count }, () => value).join(',')}]`;
  expect(refusalOf(list(20_000))).toBe('taken');
  for (const count of [50_000, 100_000, 200_000]) expect(refusalOf(list(count))).toBe('the body has more than 50000 values');
});
