import { expect, it } from 'vitest';
import { createGate } from './gate.ts';

it('no more runs at once than may, the rest waits in order, and what is over the limit is refused', async () => {
  const gate = createGate({ running: 2, waiting: 3 });
  const order: number[] = [];
  const releases: Array<() => void> = [];
  let running = 0;
  let most = 0;
  const work = (number: number) =>
    gate(async () => {
      order.push(number);
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => releases.push(resolve));
      running -= 1;
      return number;
    });
  const five = [1, 2, 3, 4, 5].map(work);
  await expect(work(6)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  const done = Promise.all(five);
  const isDone = done.then(() => true);
  while (!(await Promise.race([isDone, Promise.resolve(false)]))) {
    releases.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await done).toEqual([1, 2, 3, 4, 5]);
  expect(order).toEqual([1, 2, 3, 4, 5]);
  expect(most).toBe(2);
});

it('work that fails gives its place to the next', async () => {
  const gate = createGate({ running: 1, waiting: 1 });
  const failing = gate(() => Promise.reject(new Error('no')));
  const next = gate(async () => 'ran');
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('ran');
});
