import fs from 'node:fs';
import { join } from 'node:path';
import { makeTempDir } from '@wharf/harness';
import { expect, it, onTestFinished, vi } from 'vitest';
import { namesIn } from './names-in.ts';

const hex = (names: Iterable<Buffer>) => Array.from(names, (name) => name.toString('hex')).sort();

/** A long folder, one of whose names is no text, and its entries. */
async function longFolder() {
  const dir = await makeTempDir('names-in');
  onTestFinished(() => dir.remove());
  const prefix = Buffer.from(join(dir.path, '/'));
  const names = [...Array.from({ length: 1_500 }, (_, index) => Buffer.from(`${index}`)), Buffer.from([0x61, 0xff])];
  for (const name of names) fs.writeFileSync(Buffer.concat([prefix, name]), '');
  return { prefix, names };
}

it('names of a folder are read some at a time, as they are on disk', async () => {
  const { prefix, names } = await longFolder();
  const readAll = vi.spyOn(fs, 'readdirSync');
  onTestFinished(() => readAll.mockRestore());
  expect(hex(namesIn(prefix))).toEqual(hex(names));
  expect(readAll).not.toHaveBeenCalled();
});

it('a folder that is emptied meanwhile is gone through all the same', async () => {
  const { prefix } = await longFolder();
  for (const name of namesIn(prefix)) fs.unlinkSync(Buffer.concat([prefix, name]));
  expect(fs.readdirSync(prefix)).toEqual([]);
});

it('walks that keep too much together are refused, and give back what they kept', async () => {
  const { prefix, names } = await longFolder();
  const walks: ReturnType<typeof namesIn>[] = [];
  const begin = () => {
    for (;;) {
      const walk = namesIn(prefix);
      walk.next();
      walks.push(walk);
    }
  };
  expect(begin).toThrow('begin with those that are inside');
  expect(walks.length).toBeGreaterThan(50);
  expect(walks.length).toBeLessThan(150);
  for (const walk of walks) walk.return();
  expect(hex(namesIn(prefix))).toEqual(hex(names));
});
