import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { PART_BUDGET_BYTES, type PartBuffer, takePartBuffer } from './part-buffers.ts';

const HALF = PART_BUDGET_BYTES / 2;

it('all parts together are bounded: who finds no room waits, first come, first served', async () => {
  const first = await takePartBuffer(HALF, { caller: 'one' });
  const second = await takePartBuffer(HALF, { caller: 'two' });
  const order: string[] = [];
  const big = takePartBuffer(HALF, { caller: 'three' }).then((part) => {
    order.push('big');
    return part;
  });
  const small = takePartBuffer(1, { caller: 'four' }).then((part) => {
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
  const whole = await takePartBuffer(PART_BUDGET_BYTES, {});
  whole.release();
});

it('who is aborted while it waits leaves its place', async () => {
  const all = await takePartBuffer(PART_BUDGET_BYTES, {});
  const abort = new AbortController();
  const late = new AppError('DEADLINE_EXCEEDED', 'too slow');
  const refused = expect(takePartBuffer(HALF, { signal: abort.signal })).rejects.toBe(late);
  const next = takePartBuffer(1, {});
  abort.abort(late);
  await refused;
  all.release();
  (await next).release();
  const whole = await takePartBuffer(PART_BUDGET_BYTES, {});
  whole.release();
});

it('one caller holds no more than a share, and others find room', async () => {
  const part = PART_BUDGET_BYTES / 6;
  const held = await Promise.all(Array.from({ length: 4 }, () => takePartBuffer(part, { caller: 'slow' })));
  let isFifth = false;
  const fifth = takePartBuffer(part, { caller: 'slow' }).then((buffer) => {
    isFifth = true;
    return buffer;
  });
  const other = await takePartBuffer(part, { caller: 'other' });
  expect(isFifth).toBe(false);
  other.release();
  held.pop()?.release();
  (await fifth).release();
  for (const buffer of held) buffer.release();
});

it('who holds some, as all tasks together do, leaves a quarter to those who hold nothing', async () => {
  const part = PART_BUDGET_BYTES / 12;
  const held: PartBuffer[] = [];
  const tasks = Array.from({ length: 12 }, () => takePartBuffer(part, { isPatient: true }).then((buffer) => held.push(buffer)));
  const others = await Promise.all(['one', 'two', 'three'].map((caller) => takePartBuffer(part, { caller })));
  expect(held).toHaveLength(9);
  for (const buffer of [...others, ...held]) buffer.release();
  await Promise.all(tasks);
  for (const buffer of held) buffer.release();
});
