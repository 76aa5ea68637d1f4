import { currentOwner } from '@wharf/owned-names';
import { expect, vi } from 'vitest';
import { newAsideName, newDoomedName } from '../temp-names.ts';
import { at, namesIn, put, textOf } from './driver-calls.ts';
import type { Rule } from './rule.suite.ts';

/** No process has this number. */
const ENDED = { ...currentOwner(), pid: 4_194_305 };

const PATIENCE = { timeout: 10_000, interval: 20 };

/** For drivers whose servers may not replace in one step, so that what is replaced steps aside. */
export function asideRules(rule: Rule): void {
  rule('what stepped aside for a process that has ended has its name again', [], async (driver, { seed }) => {
    const of = (name: string, agoMs: number, owner = ENDED) => `/${newAsideName(owner, name, Date.now() - agoMs).name}`;
    const elsewhere = { ...ENDED, host: '0'.repeat(12) };
    await seed?.([of('of this host', 0), of('of another.txt', 3_600_000, elsewhere)]);
    expect((await namesIn(driver, '/')).sort()).toEqual(['of another.txt', 'of this host']);
    expect((await namesIn(driver, '/')).sort()).toEqual(['of another.txt', 'of this host']);
  });
  rule(
    'what was removed days ago, and nobody went on with, goes behind a listing',
    ['beginRemoval'],
    async (driver, { seed, leftovers }) => {
      const old = newDoomedName(Date.now() - 3 * 24 * 3_600_000);
      const young = newDoomedName(Date.now() - 3_600_000);
      await seed?.([`/d/${old}/e/f`, `/d/${old}/g`, `/d/${young}/h`, '/d/stays']);
      expect(await namesIn(driver, '/d')).toEqual(['stays']);
      await vi.waitFor(async () => expect((await leftovers?.())?.filter((name) => name.includes(old))).toEqual([]), PATIENCE);
      expect((await leftovers?.())?.some((name) => name.includes(young))).toBe(true);
      await driver.remove?.(at('/d'), { recursive: true });
    },
  );
  rule('a file is replaced however long its name is, and nothing else is left', ['write'], async (driver) => {
    for (const name of ['/short', `/${'long-'.repeat(40)}`]) {
      await put(driver, name, 'old');
      await put(driver, name, 'new', { overwrite: true });
      expect(await textOf(driver, name)).toBe('new');
      await driver.rename?.(at(name), at('/other'), { overwrite: true });
      expect([await namesIn(driver, '/'), await textOf(driver, '/other')]).toEqual([['other'], 'new']);
    }
  });
}
