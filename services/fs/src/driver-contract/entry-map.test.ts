import { createPace } from '@wharf/pace';
import type { EntryName } from '@wharf/paths';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { EntryMap, takeEntries } from './entry-map.ts';
import type { Entry } from './storage-driver.ts';

const MANY = 1_100;
const named = (name: string, rest: Partial<Entry> = {}): Entry => ({
  name: name as EntryName,
  isDirectory: false,
  sizeBytes: 5,
  modifiedAt: new Date(7),
  ...rest,
});
const fillers = Array.from({ length: MANY }, (_, index) => named(`filler-${index}`));

const anyEntry = fc
  .record(
    {
      name: fc.string({ minLength: 1, maxLength: 40, unit: 'binary' }),
      isDirectory: fc.boolean(),
      sizeBytes: fc.option(fc.nat({ max: Number.MAX_SAFE_INTEGER }), { nil: undefined }),
      modifiedAt: fc.date({ noInvalidDate: true }),
      createdAt: fc.date({ noInvalidDate: true }),
      hashes: fc.record({ md5: fc.string(), sha1: fc.string(), sha256: fc.string() }, { requiredKeys: [] }),
      version: fc.string({ maxLength: 80, unit: 'binary' }),
      isLink: fc.constant(true),
      hasThumbnail: fc.constant(true),
    },
    { requiredKeys: ['name', 'isDirectory', 'sizeBytes', 'modifiedAt'] },
  )
  .map((entry) => ({ ...entry }) as Entry);

it('many entries read back as they came, in their order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(anyEntry, { selector: ({ name }) => name, maxLength: 50 }), async (entries) => {
      const all = [...fillers, ...entries.filter(({ name }) => !name.startsWith('filler-'))];
      const map = await takeEntries(all);
      expect(map.size).toBe(all.length);
      expect([...map.values()]).toEqual(all);
      expect(await map.names(createPace())).toEqual(all.map(({ name }) => name));
      for (const entry of entries) expect([map.get(entry.name), map.isDirectory(entry.name)]).toEqual([entry, entry.isDirectory]);
      expect([...map.drain()]).toEqual(all);
    }),
    { numRuns: 10 },
  );
});

it.each([
  ['few', []],
  ['many', fillers],
])('of %s entries one is replaced, goes and comes back as in a Map', async (_, before) => {
  const [map, plain] = [await takeEntries(before), new Map(before.map((entry) => [entry.name, entry]))];
  const change = (entry: Entry) => {
    map.set(entry);
    plain.set(entry.name, entry);
  };
  const drop = (name: string) => {
    map.delete(name as EntryName);
    plain.delete(name as EntryName);
  };
  const same = () => {
    expect(map.size).toBe(plain.size);
    expect([...map.values()].toSorted(byName)).toEqual([...plain.values()].toSorted(byName));
  };
  for (const name of ['a', 'b', 'filler-7']) change(named(name));
  change(named('a', { isDirectory: true, sizeBytes: 0 }));
  expect(map.isDirectory('a' as EntryName)).toBe(true);
  same();
  for (const name of ['a', 'a', 'nobody', 'filler-7']) drop(name);
  expect([map.has('a' as EntryName), map.get('a' as EntryName), map.isDirectory('a' as EntryName)]).toEqual([false, undefined, false]);
  same();
  change(named('a', { version: 'x' }));
  expect(map.get('a' as EntryName)).toEqual(named('a', { version: 'x' }));
  same();
});

const byName = (left: Entry, right: Entry) => (left.name < right.name ? -1 : 1);

it('what many entries take grows with them, and is a part of what they take as objects', async () => {
  const bytesOf = async (count: number) => {
    const map = new EntryMap();
    for (let index = 0; index < count; index += 1) map.set(named(`a picture ${String(index).padStart(6, '0')}.jpg`));
    return map.bytes;
  };
  const [few, more, most] = [await bytesOf(20_000), await bytesOf(40_000), await bytesOf(80_000)];
  expect(more / few).toBeLessThan(2.5);
  expect(most / more).toBeLessThan(2.5);
  expect(most / 80_000).toBeLessThan(110);
});

it('all entries of many are listed with room for others', async () => {
  const entries = await takeEntries(fillers);
  let steps = 0;
  const pace = {
    async step() {
      steps += 1;
    },
  };
  const all = await entries.all(pace);
  expect(all).toEqual(fillers);
  expect(steps).toBe(fillers.length);
});

it.each([
  ['few', 500, 1],
  ['many of which all were changed', 1_500, 2],
])('of %s entries texts count in what they take', (_, count, times) => {
  const bytesOf = (rest: Partial<Entry>, letters: number) => {
    const map = new EntryMap();
    for (const size of [0, 1])
      for (let index = 0; index < count; index += 1)
        map.set(named(String(index).padStart(letters, '\u3042'), { ...rest, sizeBytes: size }));
    return map.bytes;
  };
  const [short, long] = [bytesOf({}, 10), bytesOf({ version: 'v'.repeat(250), hashes: { md5: 'a'.repeat(32) } }, 250)];
  expect(long - short).toBeGreaterThan(times * count * (2 * 240 + 250 + 32));
});
