import { constants } from 'node:os';
import { getSystemErrorMap } from 'node:util';
import { expect, it } from 'vitest';
import { systemCodeOf } from './system-code.ts';

/** An error as Node makes it of a number of the system. */
function errorOf(number: number): Error {
  const [code = 'UNKNOWN'] = getSystemErrorMap().get(-number) ?? [];
  return Object.assign(new Error(code), { code, errno: -number });
}

it.each(Object.entries(constants.errno))('%s is told by its name, also where Node has none for it', (name, number) => {
  // Some have two.
  expect(constants.errno[systemCodeOf(errorOf(number)) as keyof typeof constants.errno], name).toBe(number);
});

it('what is no error of the system has no name of one', () => {
  expect([new Error('x'), 'EDQUOT', undefined, Object.assign(new Error('x'), { code: 5 })].map(systemCodeOf)).toEqual(
    Array.from({ length: 4 }, () => undefined),
  );
  expect(systemCodeOf(Object.assign(new Error('x'), { code: 'UNKNOWN', errno: -1_000_000 }))).toBe('UNKNOWN');
});
