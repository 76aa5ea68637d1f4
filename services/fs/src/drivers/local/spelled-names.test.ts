import fs from 'node:fs';
import path from 'node:path';
import { makeTempDir } from '@wharf/harness';
import { expect, it, onTestFinished, vi } from 'vitest';
import { SpelledNames } from './spelled-names.ts';

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
