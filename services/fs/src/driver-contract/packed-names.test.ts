import { expect, it } from 'vitest';
import { NameSet } from './name-set.ts';
import { PackedNames } from './packed-names.ts';

const NAMES = Array.from(
  { length: 5_000 },
  (_, index) => `${'long '.repeat(index % 40)}${index} ${index % 3 === 0 ? 'é' : index % 3 === 1 ? '字' : '\ud800'}`,
);

it('names are found by themselves, each under one number', () => {
  const names = new PackedNames();
  for (const [number, name] of NAMES.entries()) {
    expect([names.add(name), names.add(name)]).toEqual([true, false]);
    expect(names.find(name)).toBe(number);
  }
  expect(names.count).toBe(NAMES.length);
  for (const [number, name] of NAMES.entries()) expect([names.find(name), names.at(number)]).toEqual([number, name]);
  for (const other of ['', 'nobody', `${NAMES[7]} `, NAMES[7]?.slice(1) ?? '']) expect(names.find(other)).toBeUndefined();
});

it('a name longer than a block is kept too', () => {
  const names = new PackedNames();
  const long = ['x'.repeat(200_000), 'short', `${'x'.repeat(200_000)}y`];
  for (const name of long) names.add(name);
  expect(long.map((_, number) => names.at(number))).toEqual(long);
});

it('a set of names says of each once that it is new', () => {
  using set = new NameSet();
  expect(NAMES.filter((name) => set.add(name))).toEqual(NAMES);
  expect(NAMES.filter((name) => set.add(name))).toEqual([]);
});
