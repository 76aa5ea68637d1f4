import type { MountPath } from '@wharf/paths';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { GatheredLooks } from './gathered-looks.ts';

const FOLDER = '/pictures' as MountPath;
const LOOK_MS = 4;
const EACH_ASKS = 40;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A thread as that of a disk: one look at a time, and callers who come meanwhile share the next. */
function makeThread() {
  let looks = 0;
  let next: Promise<number> | undefined;
  let last = Promise.resolve(0);
  const begin = () => {
    next = undefined;
    looks += 1;
    const number = looks;
    return wait(LOOK_MS).then(() => number);
  };
  return {
    count: () => looks,
    look: () => {
      next ??= last = last.then(begin);
      return next;
    },
  };
}

const wait = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));

/** Each asks again a while after its answer: as long as that took to reach it through others' answers. */
async function crowd(clients: number, entries: number): Promise<number> {
  const looks = new GatheredLooks();
  const thread = makeThread();
  const client = async (index: number) => {
    for (let asked = 0; asked < EACH_ASKS; asked += 1) {
      const begun = thread.count();
      expect(await looks.run(FOLDER, entries, thread.look)).toBeGreaterThan(begun);
      await wait(index + 1);
    }
  };
  const all = Promise.all(Array.from({ length: clients }, (_, index) => client(index)));
  await vi.runAllTimersAsync();
  await all;
  return thread.count();
}

test('several who look at many entries again and again share their looks, and nobody gets one that began before', async () => {
  for (const clients of [2, 4, 8]) {
    const [few, many] = [await crowd(clients, 20), await crowd(clients, 1000)];
    expect(many / few, `${clients} clients`).toBeLessThan(0.7);
    expect(many, `${clients} clients`).toBeLessThanOrEqual(1.1 * EACH_ASKS);
  }
});

test('a client alone waits for nobody, nor do those who look at few entries', async () => {
  const looks = new GatheredLooks();
  let timers = 0;
  const look = async () => (timers += vi.getTimerCount());
  for (let asked = 0; asked < EACH_ASKS; asked += 1) await looks.run(FOLDER, 1000, look);
  await Promise.all(Array.from({ length: 8 }, () => looks.run(FOLDER, 20, look)));
  expect(timers).toBe(0);
});

test('once the others have gone, who is left waits once more and never again', async () => {
  const looks = new GatheredLooks();
  const thread = makeThread();
  const both = Promise.all([looks.run(FOLDER, 1000, thread.look), looks.run(FOLDER, 1000, thread.look)]);
  await vi.runAllTimersAsync();
  await both;
  const alone = async () => {
    const begun = performance.now();
    const done = looks.run(FOLDER, 1000, thread.look);
    await vi.runAllTimersAsync();
    await done;
    return performance.now() - begun;
  };
  await alone();
  await alone();
  expect(await alone()).toBe(LOOK_MS);
});

test('nobody waits for a look that does not end', async () => {
  const looks = new GatheredLooks();
  void looks.run(FOLDER, 1000, () => new Promise(() => undefined));
  const others = Promise.all(Array.from({ length: 3 }, () => looks.run(FOLDER, 1000, async () => 'seen')));
  await vi.runAllTimersAsync();
  expect(await others).toEqual(['seen', 'seen', 'seen']);
});
