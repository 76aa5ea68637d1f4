import { expect, it } from 'vitest';
import { createPassedOver } from './passed-over.ts';

const at = (ms: number) => new Date(ms);

it('what waits behind closed keys is passed over once, as long as they are closed', () => {
  const clock = { nowMs: 0 };
  const passed = createPassedOver(() => clock.nowMs);
  const start = passed.start('fetch', ['user:3']);
  expect(start.from).toBeUndefined();
  passed.note('fetch', ['user:3'], start, undefined, at(60_000));
  expect(passed.start('fetch', ['user:3']).from).toEqual(at(59_000));
  expect(passed.start('fetch', ['tool:x', 'user:3']).from).toEqual(at(59_000));
  expect(passed.start('fetch', ['tool:x']).from).toBeUndefined();
  expect(passed.start('fetch', []).from).toBeUndefined();
  expect(passed.start('other', ['user:3']).from).toBeUndefined();
});

it('a task that was taken tells that all before it is closed, but for what may not be visible yet', () => {
  const passed = createPassedOver(() => 0);
  passed.note('fetch', ['user:3'], passed.start('fetch', ['user:3']), at(20_000), at(60_000));
  expect(passed.start('fetch', ['user:3']).from).toEqual(at(20_000));
  passed.note('fetch', ['user:3'], passed.start('fetch', ['user:3']), at(59_900), at(60_000));
  expect(passed.start('fetch', ['user:3']).from).toEqual(at(59_000));
});

it('all is looked at again after ten seconds, however often it was asked, and when tasks came back', () => {
  const clock = { nowMs: 0 };
  const passed = createPassedOver(() => clock.nowMs);
  const look = () => {
    const start = passed.start('fetch', ['user:3']);
    passed.note('fetch', ['user:3'], start, undefined, at(60_000 + clock.nowMs));
    return start.from;
  };
  expect(look()).toBeUndefined();
  for (clock.nowMs = 1_000; clock.nowMs < 10_000; clock.nowMs += 1_000) expect(look()).toEqual(at(59_000 + clock.nowMs - 1_000));
  expect(look()).toBeUndefined();
  expect(look()).toBeDefined();
  passed.forget();
  expect(look()).toBeUndefined();
});
