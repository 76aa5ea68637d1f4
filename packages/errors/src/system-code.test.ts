import { constants } from 'node:os';
import { getSystemErrorMap } from 'node:util';
import { expect, it } from 'vitest';
import { systemCodeOf } from './system-code.ts';

it.each(Object.entries(constants.errno))('%s is told by its name, also where Node has none for it', (name, number) => {
  const known = getSystemErrorMap().get(-number)?.[0];
  // What is asked for at once is told otherwise than what is waited for.
  for (const code of known === undefined ? ['UNKNOWN', `Unknown system error ${-number}`] : [known]) {
    const said = systemCodeOf(Object.assign(new Error(code), { code, errno: -number }));
    // Some have two names.
    expect(constants.errno[said as keyof typeof constants.errno], name).toBe(number);
  }
});

it('what is no error of the system has no name of one', () => {
  expect([new Error('x'), 'EDQUOT', undefined, Object.assign(new Error('x'), { code: 5 })].map(systemCodeOf)).toEqual(
    Array.from({ length: 4 }, () => undefined),
  );
  expect(systemCodeOf(Object.assign(new Error('x'), { code: 'UNKNOWN', errno: -1_000_000 }))).toBe('UNKNOWN');
});
