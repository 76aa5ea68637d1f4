import { expect, it } from 'vitest';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import { walkTree } from '../../driver-contract/walk-tree.ts';
import { MemoryDriver } from '../../drivers/memory/driver.ts';
import { countWork } from '../testing/count-work.ts';
import { bytesOf, mpath } from '../testing/memory-tree.ts';
import { createListedAhead } from './listed-ahead.ts';

const { signal } = new AbortController();

/** A storage that tells whole trees, and of which. */
async function setUp(folders: number) {
  const store = new MemoryDriver();
  for (let index = 0; index < folders; index += 1) await store.write(mpath(`/d/${index}/f`), bytesOf('x'), { overwrite: true });
  const asked: string[] = [];
  const driver = decorated({
    ...operationsOf(store),
    listAll(directory, options) {
      asked.push(directory);
      return walkTree(store, directory, options);
    },
  });
  return { store, driver, asked };
}

it('a tree of many folders is asked for once', async () => {
  const { driver, asked } = await setUp(20);
  const ahead = createListedAhead();
  const names = async (path: string) => (await ahead.take(driver, mpath(path), signal))?.map(({ name }) => name);
  expect(await names('/')).toEqual(['d']);
  expect(await names('/d')).toHaveLength(20);
  for (let index = 0; index < 20; index += 1) expect(await names(`/d/${index}`)).toEqual(['f']);
  expect(asked).toEqual(['/']);
  expect(await names('/d/3')).toEqual(['f']);
  expect(asked).toEqual(['/', '/d/3']);
});

it('a tree that is too large to be held is listed folder by folder, its small parts at once', async () => {
  const { driver, asked } = await setUp(20);
  const ahead = createListedAhead(10);
  expect(await ahead.take(driver, mpath('/'), signal)).toBeUndefined();
  expect(await ahead.take(driver, mpath('/d/1'), signal)).toHaveLength(1);
  expect(asked).toEqual(['/', '/d/1']);
});

it('entries with long paths count as several', async () => {
  const { store, driver } = await setUp(0);
  for (const name of ['short', 'n'.repeat(250)]) await store.write(mpath(`/${name}/${name}/${name}/f`), bytesOf('x'), { overwrite: true });
  const ahead = createListedAhead(6);
  expect(await ahead.take(driver, mpath('/short'), signal)).toHaveLength(1);
  expect(await ahead.take(driver, mpath(`/${'n'.repeat(250)}`), signal)).toBeUndefined();
});

it('a storage that lists folder by folder is not asked', async () => {
  const { store } = await setUp(1);
  expect(await createListedAhead().take(store, mpath('/'), signal)).toBeUndefined();
});

it('what is above many changes is forgotten once', async () => {
  const { store, driver, asked } = await setUp(3);
  const deep = `/d${'/e'.repeat(300)}`;
  await store.write(mpath(`${deep}/f`), bytesOf('x'), { overwrite: true });
  const ahead = createListedAhead();
  for (const path of ['/', '/d/0']) await ahead.take(driver, mpath(path), signal);
  const changed = Array.from({ length: 200 }, (_, index) => mpath(`${deep}/${index}`));
  expect(countWork(() => ahead.forget(changed))).toBeLessThan(4 * deep.length * (deep.length + changed.length));
  for (const path of ['/d/1', '/d', deep]) await ahead.take(driver, mpath(path), signal);
  expect(asked).toEqual(['/', '/d']);
});
