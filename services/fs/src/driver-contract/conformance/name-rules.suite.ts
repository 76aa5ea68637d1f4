import { sortNames } from '@wharf/paths';
import { expect } from 'vitest';
import { at, namesIn, put, refuses, textOf } from './driver-calls.ts';
import type { Rule } from './rule.ts';

const ODD_NAMES = [
  'caf\u00e9',
  'cafe\u0301',
  '😀',
  '.leading-dot',
  'trailing space ',
  ' leading space',
  'trailing-dot.',
  "quote's",
  '"double"',
  '%2F',
  '%2e%2e',
  '..%2f',
  '...',
  'a..b',
  '$HOME',
  '`id`',
  'a;b|c&d',
  '*?[x]',
  '<b>',
  'C:',
  '~',
  '-rf',
  'CON',
  'x\u007f',
  'x'.repeat(255),
  `${'é'.repeat(127)}x`,
];

export function nameRules(rule: Rule): void {
  rule('odd names are kept exactly', ['write', 'remove'], async (driver) => {
    const names = ODD_NAMES.filter((name) => Buffer.byteLength(name) <= driver.traits.maxNameBytes);
    for (const name of names) await put(driver, `/${name}`, name);
    expect(sortNames(await namesIn(driver, '/'))).toEqual(sortNames([...names]));
    for (const name of names) expect(await textOf(driver, `/${name}`)).toBe(name);
    for (const name of names) await driver.remove(at(`/${name}`), { recursive: false });
    expect(await namesIn(driver, '/')).toEqual([]);
  });
  rule('odd names work for folders, and as targets of a rename', ['write', 'makeDirectory', 'rename'], async (driver) => {
    await put(driver, '/start', 'x');
    let current = '/start';
    for (const name of ODD_NAMES.filter((odd) => Buffer.byteLength(odd) <= driver.traits.maxNameBytes)) {
      await driver.makeDirectory(at(`/d/${name}`));
      const next = `/d/${name}/${name}`;
      await driver.rename(at(current), at(next), { overwrite: false });
      current = next;
    }
    expect(await textOf(driver, current)).toBe('x');
  });
  rule('a name longer than the storage keeps is refused', ['write'], async (driver, test) => {
    if (driver.traits.maxNameBytes >= 255) test.skip('the parser refuses it before');
    await refuses('INVALID_ARGUMENT', put(driver, `/${'n'.repeat(driver.traits.maxNameBytes + 1)}`, 'x'));
  });
}
