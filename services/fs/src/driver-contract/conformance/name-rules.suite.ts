import { type EntryName, sortNames } from '@wharf/paths';
import { expect } from 'vitest';
import { refusalOf } from '../declared-names.ts';
import type { StorageDriver } from '../storage-driver.ts';
import { at, namesIn, put, refuses, textOf } from './driver-calls.ts';
import type { Rule } from './rule.suite.ts';

/** Paths of the tree are not longer. */
const MAX_TREE_PATH_BYTES = 4096;

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

/** Those that a storage says it keeps. */
const keptBy = ({ traits }: StorageDriver) => ODD_NAMES.filter((name) => refusalOf(traits, name as EntryName) === undefined);

export function nameRules(rule: Rule): void {
  for (const name of ODD_NAMES) {
    rule(
      `the name ${JSON.stringify(name).slice(0, 24)} (${Buffer.byteLength(name)} bytes) is kept exactly, or refused by the traits`,
      ['write', 'remove'],
      async (driver) => {
        const reason = refusalOf(driver.traits, name as EntryName);
        if (reason !== undefined) {
          await refuses('INVALID_ARGUMENT', put(driver, `/${name}`, name, { sizeBytes: Buffer.byteLength(name) }));
          expect(await namesIn(driver, '/')).toEqual([]);
          return;
        }
        await put(driver, `/${name}`, name);
        expect(await namesIn(driver, '/')).toEqual([name]);
        expect(await textOf(driver, `/${name}`)).toBe(name);
        await driver.remove(at(`/${name}`), { recursive: false });
        expect(await namesIn(driver, '/')).toEqual([]);
      },
    );
  }
  rule('odd names stand beside each other', ['write'], async (driver) => {
    const names = keptBy(driver);
    for (const name of names) await put(driver, `/${name}`, name);
    expect(sortNames(await namesIn(driver, '/'))).toEqual(sortNames([...names]));
    for (const name of names) expect(await textOf(driver, `/${name}`)).toBe(name);
  });
  rule('odd names work for folders, and as targets of a rename', ['write', 'makeDirectory', 'rename'], async (driver) => {
    await put(driver, '/start', 'x');
    let current = '/start';
    for (const name of keptBy(driver)) {
      await driver.makeDirectory(at(`/d/${name}`));
      const next = `/d/${name}/${name}`;
      await driver.rename(at(current), at(next), { overwrite: false });
      current = next;
    }
    expect(await textOf(driver, current)).toBe('x');
  });
  rule('a name longer than the storage keeps is refused', ['write'], async (driver) => {
    const longer = `/${'n'.repeat(driver.traits.maxNameBytes + 1)}`;
    const write = async () => put(driver, longer, 'x');
    // The parser refuses what the tree cannot say.
    await refuses('INVALID_ARGUMENT', write());
  });
  rule('the longest path is kept, and a longer one refused', ['write'], async (driver) => {
    const { maxPathBytes = MAX_TREE_PATH_BYTES, maxNameBytes } = driver.traits;
    // What the tree cannot say is no driver's business.
    if (maxPathBytes >= MAX_TREE_PATH_BYTES) return void expect(() => at(`/${'n/'.repeat(maxPathBytes / 2)}n`)).toThrow();
    const folder = `/${'f'.repeat(Math.min(maxNameBytes, 100) - 1)}`;
    const deep = folder.repeat(Math.floor((maxPathBytes - 2) / folder.length));
    const longest = `${deep}/${'n'.repeat(maxPathBytes - deep.length - 1)}`;
    await put(driver, longest, 'x');
    expect(await textOf(driver, longest)).toBe('x');
    await refuses('INVALID_ARGUMENT', put(driver, `${longest}n`, 'x'));
  });
}
