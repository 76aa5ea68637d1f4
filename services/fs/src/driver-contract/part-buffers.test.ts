import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { PART_BUDGET_BYTES, takePartBuffer } from './part-buffers.ts';

const HALF = PART_BUDGET_BYTES / 2;

it('all parts together are bounded: who finds no room waits, first come, first served', async () => {
  const first = await takePartBuffer(HALF, undefined);
  const second = await takePartBuffer(HALF, undefined);
  const order: string[] = [];
  const big = takePartBuffer(HALF, undefined).then((part) => {
    order.push('big');
    return part;
  });
  const small = takePartBuffer(1, undefined).then((part) => {
    order.push('small');
    return part;
  });
  await Promise.resolve();
  expect(order).toEqual([]);
  first.release();
  first.release();
  (await big).release();
  (await small).release();
  second.release();
  expect(order).toEqual(['big', 'small']);
  const whole = await takePartBuffer(PART_BUDGET_BYTES, undefined);
  whole.release();
});

it('who is aborted while it waits leaves its place', async () => {
  const all = await takePartBuffer(PART_BUDGET_BYTES, undefined);
  const abort = new AbortController();
  const late = new AppError('DEADLINE_EXCEEDED', 'too slow');
  const refused = expect(takePartBuffer(HALF, abort.signal)).rejects.toBe(late);
  const next = takePartBuffer(1, undefined);
  abort.abort(late);
  await refused;
  all.release();
  (await next).release();
  const whole = await takePartBuffer(PART_BUDGET_BYTES, undefined);
  whole.release();
});
