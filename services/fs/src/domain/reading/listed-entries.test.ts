import { expect, it } from 'vitest';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import { vpath } from '../testing/memory-tree.ts';
import { type Folder, readListedEntries } from './listed-entries.ts';

it('entries are taken over one by one, so that whoever lists them can let others have their turn in between', async () => {
  const takenOver = new Set<number>();
  const before: number[] = [];
  const entryOf = (index: number): Entry => ({
    get name() {
      takenOver.add(index);
      return vpath(`/${index}`).slice(1) as Entry['name'];
    },
    isDirectory: false,
    sizeBytes: index,
    modifiedAt: new Date(0),
  });
  const list = async function* () {
    for (let index = 0; index < 5; index += 1) {
      before.push(takenOver.size);
      yield entryOf(index);
    }
  };
  const listed = await readListedEntries(list());
  expect(before).toEqual([0, 1, 2, 3, 4]);
  expect(await listed.names()).toEqual(['0', '1', '2', '3', '4']);
});

it('entries that cost no waiting leave room for others while they are taken', async () => {
  let delivered = 0;
  let deliveredAtTurn: number | undefined;
  setImmediate(() => {
    deliveredAtTurn = delivered;
  });
  async function* entries(): AsyncGenerator<Entry, void> {
    for (; delivered < 200_000; delivered += 1)
      yield { name: `${delivered}` as Entry['name'], isDirectory: false, sizeBytes: 1, modifiedAt: new Date(0) };
  }
  expect((await readListedEntries(entries())).count).toBe(200_000);
  expect(deliveredAtTurn).toBeLessThan(200_000);
});

it('those who ask for an order at once share one sort', async () => {
  const listed = await readListedEntries(
    (async function* () {
      for (const name of ['b', 'a']) yield { name: name as Entry['name'], isDirectory: false, sizeBytes: 1, modifiedAt: new Date(0) };
    })(),
  );
  let sorts = 0;
  const inTurn = (sort: () => Promise<Folder>) => {
    sorts += 1;
    return sort();
  };
  const order = { by: 'name', isDescending: false, folders: '' };
  const folders = await Promise.all([listed.inOrder(order, inTurn), listed.inOrder(order, inTurn)]);
  expect(folders.map(({ names }) => names)).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ]);
  expect(sorts).toBe(1);
  listed.change('a' as Entry['name'], undefined);
  expect((await listed.inOrder(order, inTurn)).names).toEqual(['b']);
});

it('whoever asks for all entries of a big folder leaves room for others', async () => {
  const listed = await readListedEntries(
    (async function* () {
      for (let index = 0; index < 50_000; index += 1)
        yield { name: `${index}` as Entry['name'], isDirectory: false, sizeBytes: 1, modifiedAt: new Date(0) };
    })(),
  );
  const { names, entries } = await listed.inOrder({ by: '', isDescending: false, folders: '' }, (sort) => sort());
  let hadTurn = false;
  setImmediate(() => {
    hadTurn = true;
  });
  expect(await entries(names, undefined)).toHaveLength(50_000);
  expect(hadTurn).toBe(true);
});
