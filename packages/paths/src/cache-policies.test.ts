import { expect, it } from 'vitest';
import { readCachePolicies } from './cache-policies.ts';

const lines = (count: number, line: string) => Array.from({ length: count }, () => line).join('\n');

it('reads a pattern and minutes a line, and passes over what is no such thing', () => {
  expect(readCachePolicies('\r\n# none\n /a : 5 \r\n/b:c:0\n:3\n/x:many\n')).toEqual({
    policies: [
      { pattern: '/a', minutes: 5 },
      { pattern: '/b:c', minutes: 0 },
    ],
    excess: undefined,
  });
});

it.each([
  ['the largest number of lines', `${lines(200, '/a:1')}\n\r\n\n`, 200, undefined],
  ['a line more', `${lines(201, '/a:1')}\n`, 200, 'line 201: there may be 200 lines at most'],
  ['the longest patterns', lines(4, `/${'a'.repeat(999)}:1`), 4, undefined],
  ['a longer pattern', `/a:1\n/${'a'.repeat(1_000)}:1\n/b:1`, 2, 'line 2: a pattern may have 1000 characters at most'],
  ['longer patterns together', lines(67, `/${'[\\pL]'.repeat(193)}:5`), 4, 'line 5: the patterns may have 4000 characters together'],
])('takes of %s what is within the bounds', (_what, text, count, excess) => {
  const read = readCachePolicies(text);
  expect([read.policies.length, read.excess]).toEqual([count, excess]);
});
