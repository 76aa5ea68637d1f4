import fs from 'node:fs';
import path from 'node:path';
import { makeTempDir } from '@wharf/harness';
import { expect, it, onTestFinished, vi } from 'vitest';
import { SpelledNames } from './spelled-names.ts';

it('what a folder that rests does not list is looked for in it once, however many other names are asked for', async () => {
  const temp = await makeTempDir('spelled');
  onTestFinished(() => temp.remove());
  for (const name of ['one', 'two']) fs.writeFileSync(path.join(temp.path, name), '');
  const stats = fs.statSync(temp.path, { bigint: true });
  const folder = { prefix: `${temp.path}/`, stat: () => ({ ...stats, ctimeMs: stats.ctimeMs - 60_000n }) as fs.BigIntStats };
  const reads = vi.spyOn(fs, 'opendirSync');
  onTestFinished(() => reads.mockRestore());
  vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const names = new SpelledNames();
  for (let index = 0; index < 20; index += 1) expect(names.absentIn(folder, ['one', `ONE~${index}`])).toEqual([1]);
  expect(reads).toHaveBeenCalledTimes(1);
  vi.setSystemTime(1_800_000_005_000);
  expect(names.absentIn(folder, ['ONE~1'])).toEqual([0]);
  expect(reads).toHaveBeenCalledTimes(2);
});

it('what came into a folder that rests is found at once, where the disk keeps no time of that', async () => {
  const temp = await makeTempDir('spelled');
  onTestFinished(() => temp.remove());
  fs.writeFileSync(path.join(temp.path, 'one'), '');
  const stats = fs.statSync(temp.path, { bigint: true });
  const folder = { prefix: `${temp.path}/`, stat: () => ({ ...stats, ctimeMs: stats.ctimeMs - 60_000n }) as fs.BigIntStats };
  const reads = vi.spyOn(fs, 'opendirSync');
  onTestFinished(() => reads.mockRestore());
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
  onTestFinished(() => void vi.useRealTimers());
  const names = new SpelledNames();
  expect(names.absentIn(folder, ['one', 'two'])).toEqual([1]);
  fs.writeFileSync(path.join(temp.path, 'two'), '');
  expect(names.absentIn(folder, ['one', 'two'])).toEqual([]);
  expect(names.absentIn(folder, ['one', 'two'])).toEqual([]);
  expect(reads).toHaveBeenCalledTimes(2);
});

it('of a folder with many letters in its names none are held, and what is spelled otherwise is found', async () => {
  const temp = await makeTempDir('spelled');
  onTestFinished(() => temp.remove());
  for (let index = 0; index < 300; index += 1) fs.writeFileSync(path.join(temp.path, `${index}`.padStart(100, 'n')), '');
  const before = new Date(Date.now() - 60_000);
  fs.utimesSync(temp.path, before, before);
  const folder = { prefix: `${temp.path}/`, stat: () => fs.statSync(temp.path, { bigint: true }) };
  const held = vi.spyOn(Set.prototype, 'add');
  const asked = ['7'.padStart(100, 'n'), 'Nothing', '299'.padStart(100, 'n')];
  expect(new SpelledNames(1_000).absentIn(folder, asked)).toEqual([1]);
  expect(Math.max(...held.mock.contexts.map((set) => (set as Set<unknown>).size))).toBeLessThanOrEqual(10);
  held.mockRestore();
  expect(new SpelledNames().absentIn(folder, asked)).toEqual([1]);
});
