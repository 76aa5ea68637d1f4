import { expect } from 'vitest';
import { at, namesIn, put } from './driver-calls.ts';
import type { Able, Rule, StorageUnderTest } from './rule.suite.ts';

type Seed = (paths: readonly string[]) => Promise<void>;

/** Servers answer listings in pages of a thousand. */
const LENGTHS = [999, 1_000, 1_001, 10_000] as const;
/** What is put there at once. */
const BATCH = 250;

const pathOf = (length: number) => `/long-${length}`;
const namesOf = (length: number) => Array.from({ length }, (_, index) => `entry-${index}`);

async function seedFolder(length: number, seed: Seed): Promise<void> {
  const paths = namesOf(length).map((name) => `${pathOf(length)}/${name}`);
  for (let from = 0; from < paths.length; from += BATCH) await seed(paths.slice(from, from + BATCH));
}

/** Puts the long folders into a storage that rules only read. */
export async function seedLongFolders(seed: Seed): Promise<void> {
  for (const length of LENGTHS) await seedFolder(length, seed);
}

/** A folder of so many empty files; it is made where the storage is the rule's own. */
export async function longFolder(
  driver: Able<'write'>,
  { seed, isStanding }: Pick<StorageUnderTest, 'seed' | 'isStanding'>,
  length: (typeof LENGTHS)[number],
): Promise<{ path: string; names: string[] }> {
  const write: Seed = async (paths) => void (await Promise.all(paths.map((path) => put(driver, path, '', { sizeBytes: 0 }))));
  if (!isStanding) await seedFolder(length, seed ?? write);
  return { path: pathOf(length), names: namesOf(length) };
}

/** Of folders of any length. */
export function longListingRules(rule: Rule): void {
  for (const length of LENGTHS) {
    rule(
      `a listing of ${length} entries has each once`,
      ['write'],
      async (driver, side) => {
        const { path, names } = await longFolder(driver, side, length);
        expect((await namesIn(driver, path)).sort()).toEqual(names.sort());
        expect(await driver.stat(at(path))).toMatchObject({ isDirectory: true });
      },
      'reading',
    );
  }
}
