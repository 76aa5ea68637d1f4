import { expect, test } from 'vitest';
import { createSharedSync } from './shared-sync.ts';

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
  const first = shared();
  await turn();
  let isDone = false;
  const later = [shared(), shared()];
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

test('a failure is met by all who ask later', async () => {
  const { running, shared } = makeSyncs();
  const first = shared();
  await turn();
  const second = shared();
  running[0]?.reject(new Error('lost'));
  await expect(first).rejects.toThrow('lost');
  await expect(second).rejects.toThrow('lost');
  await expect(shared()).rejects.toThrow('lost');
  expect(running).toHaveLength(1);
});
