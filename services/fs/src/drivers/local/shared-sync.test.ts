import { expect, test } from 'vitest';
import { createSharedSync } from './shared-sync.ts';

const MIB = 1024 * 1024;

/** Syncs that end when they are told to, in the order in which they began. */
function makeSyncs() {
  const running: PromiseWithResolvers<void>[] = [];
  const sync = () => {
    const one = Promise.withResolvers<void>();
    running.push(one);
    return one.promise;
  };
  return { running, shared: createSharedSync(sync) };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('whoever asks while one runs waits for one that begins after that, and shares it', async () => {
  const { running, shared } = makeSyncs();
  const first = shared.now();
  let isDone = false;
  const later = [shared.now(), shared.now()];
  void later[0]?.then(() => (isDone = true));
  expect(running).toHaveLength(1);
  running[0]?.resolve();
  await first;
  await turn();
  expect(running).toHaveLength(2);
  expect(isDone).toBe(false);
  running[1]?.resolve();
  await Promise.all(later);
  expect(running).toHaveLength(2);
});

test('many bytes are synced before anybody asks, and one at a time', async () => {
  const { running, shared } = makeSyncs();
  shared.wrote(MIB - 1);
  expect(running).toHaveLength(0);
  shared.wrote(1);
  shared.wrote(3 * MIB);
  expect(running).toHaveLength(1);
  running[0]?.resolve();
  await turn();
  shared.wrote(1);
  expect(running).toHaveLength(2);
});

test('a failure that nobody waited for is met by all who ask later', async () => {
  const { running, shared } = makeSyncs();
  shared.wrote(MIB);
  running[0]?.reject(new Error('lost'));
  await turn();
  await expect(shared.now()).rejects.toThrow('lost');
  await expect(shared.now()).rejects.toThrow('lost');
  expect(running).toHaveLength(1);
});
