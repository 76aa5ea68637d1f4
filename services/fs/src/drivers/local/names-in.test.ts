import fs from 'node:fs';
import path from 'node:path';
import { makeTempDir } from '@wharf/harness';
import { expect, it, onTestFinished, vi } from 'vitest';
import { namesIn } from './names-in.ts';

it('names of a folder are read some at a time, as they are on disk', async () => {
  const dir = await makeTempDir('names-in');
  const readAll = vi.spyOn(fs, 'readdirSync');
  onTestFinished(async () => {
    readAll.mockRestore();
    await dir.remove();
  });
  const names = [...Array.from({ length: 1_500 }, (_, index) => Buffer.from(`${index}`)), Buffer.from([0x61, 0xff])];
  for (const name of names) fs.writeFileSync(Buffer.concat([Buffer.from(path.join(dir.path, '/')), name]), '');
  const found = [...namesIn(Buffer.from(path.join(dir.path, '/')))];
  expect(found.map((name) => name.toString('hex')).sort()).toEqual(names.map((name) => name.toString('hex')).sort());
  expect(readAll).not.toHaveBeenCalled();
});
