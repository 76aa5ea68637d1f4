import type { BigIntStats } from 'node:fs';
import { expect, test } from 'vitest';
import type { HeldFolder } from './confined-root.ts';
import { FolderSyncs } from './folder-syncs.ts';

const folder = (ino: number) => ({ stat: () => ({ dev: 1n, ino: BigInt(ino) }) as BigIntStats }) as HeldFolder;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Syncs that end when they are told to, in the order in which they began. */
function makeSyncs() {
  const running: (PromiseWithResolvers<void> & { folder: HeldFolder })[] = [];
  const syncs = new FolderSyncs((of) => {
    const one = { ...Promise.withResolvers<void>(), folder: of };
    running.push(one);
    return one.promise;
  });
  return { running, syncs };
}

test.each([8, 16, 32])('%i changes of one folder while a sync runs share the next, which begins after all of them', async (count) => {
  const { running, syncs } = makeSyncs();
  const [first, other] = [folder(1), folder(2)];
  const begun = syncs.sync(first);
  await turn();
  let done = 0;
  const later = Array.from({ length: count }, () => syncs.sync(folder(1)).then(() => (done += 1)));
  const elsewhere = syncs.sync(other);
  await turn();
  expect(running.map((one) => one.folder)).toEqual([first, other]);
  running[1]?.resolve();
  await elsewhere;
  running[0]?.resolve();
  await begun;
  await turn();
  expect([running.length, done]).toEqual([3, 0]);
  running[2]?.resolve();
  await Promise.all(later);
  expect(running).toHaveLength(3);
});

test('a failure is that of those who shared the sync, and of nobody later', async () => {
  const { running, syncs } = makeSyncs();
  const first = syncs.sync(folder(1));
  await turn();
  const second = [syncs.sync(folder(1)), syncs.sync(folder(1))];
  running[0]?.reject(new Error('full'));
  await expect(first).rejects.toThrow('full');
  await turn();
  running[1]?.reject(new Error('lost'));
  for (const each of second) await expect(each).rejects.toThrow('lost');
  const third = syncs.sync(folder(1));
  await turn();
  running[2]?.resolve();
  await expect(third).resolves.toBeUndefined();
});
