import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { at, collect, entriesIn, refuses } from '../../driver-contract/conformance/driver-calls.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import { virtualDriver } from './index.ts';

const SIZES = { min_file_size: 100_000, max_file_size: 300_000 };
const open = (rest: object = {}) => virtualDriver.open(JSON.stringify({ num_file: 4, num_folder: 3, ...SIZES, ...rest }), { storageId: 7 });

it('what is listed is there, is the same each time, and is another thing in another folder', async () => {
  const [driver, again] = [await open(), await open()];
  const entries = await entriesIn(driver, '/');
  expect(entries.map(({ isDirectory }) => isDirectory)).toEqual([true, true, true, false, false, false, false]);
  expect(await entriesIn(again, '/')).toEqual(entries);
  const [folder, , , file] = entries;
  const inner = await entriesIn(driver, `/${folder?.name}`);
  expect(new Set([...entries, ...inner].map(({ name }) => name)).size).toBe(14);
  for (const entry of inner) expect(await driver.stat(at(`/${folder?.name}/${entry.name}`))).toEqual(entry);
  for (const { sizeBytes = 0, isDirectory } of entries) expect(isDirectory || (sizeBytes >= 100_000 && sizeBytes <= 300_000)).toBe(true);
  await refuses('ENTRY_NOT_FOUND', driver.stat(at(`/${file?.name}/x`)));
  await refuses('ENTRY_NOT_FOUND', driver.stat(at(`/${folder?.name}x`)));
  await refuses('ENTRY_NOT_FOUND', driver.stat(at('/folder 4 00000000')));
});

it('a range gives the bytes that the whole has there', async () => {
  const driver = await open();
  const file = (await entriesIn(driver, '/')).find(({ isDirectory }) => !isDirectory);
  const path = at(`/${file?.name}`);
  const whole = await collect(await driver.read(path));
  expect(whole).toHaveLength(file?.sizeBytes ?? 0);
  for (const [offsetBytes, lengthBytes] of [
    [0, 10],
    [1, 15],
    [16, 1],
    [65_535, 70_001],
    [whole.length - 3, 100],
  ] as const)
    expect(
      (await collect(await driver.read(path, { offsetBytes, lengthBytes }))).equals(whole.subarray(offsetBytes, offsetBytes + lengthBytes)),
    ).toBe(true);
  await refuses('RANGE_NOT_SATISFIABLE', driver.read(path, { offsetBytes: whole.length }));
});

it('a listing of 100,000 files is made, and what many hold at once is bounded', async () => {
  const driver = decorate(await open({ num_file: 100_000 }), virtualDriver.limits);
  expect(await entriesIn(driver, '/')).toHaveLength(100_003);
  const listings = await Promise.allSettled(Array.from({ length: 4 }, () => entriesIn(driver, '/')));
  const codes = listings.map((listing) => (listing.status === 'rejected' ? listing.reason.code : 'made'));
  expect(new Set(codes)).toEqual(new Set(['made', 'OVERLOADED']));
});

it('folders end somewhere', async () => {
  const driver = await open({ num_folder: 1, num_file: 0 });
  let path = '';
  for (let depth = 0; depth < 8; depth++) path += `/${(await entriesIn(driver, path || '/'))[0]?.name}`;
  expect(await entriesIn(driver, path)).toEqual([]);
});

it.each([{ num_file: -1 }, { num_folder: 100_001 }, { num_file: 0.5 }, { min_file_size: 2, max_file_size: 1 }])(
  '%j is refused',
  async (items) => {
    await expect(open(items)).rejects.toSatisfy((error) => AppError.is(error, 'INVALID_ARGUMENT'));
  },
);
