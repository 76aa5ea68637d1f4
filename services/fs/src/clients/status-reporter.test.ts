import { expect, it } from 'vitest';
import { createSchedule } from '../domain/testing/schedule.ts';
import { createStatusReporter } from './status-reporter.ts';

function setUp() {
  let now = 0;
  const schedule = createSchedule(() => now);
  const heard: string[] = [];
  const errors: unknown[] = [];
  let isDeaf = false;
  const reporter = createStatusReporter({
    async send(id, status) {
      if (isDeaf) throw new Error('admin is away');
      heard.push(`${id} ${status}`);
    },
    after: schedule.after,
    onError: (error) => errors.push(error),
  });
  return {
    reporter,
    heard,
    errors,
    makeDeaf: (value: boolean) => {
      isDeaf = value;
    },
    later(ms: number) {
      now += ms;
      return schedule.run();
    },
  };
}

it('a status is told again until it is heard, ever more rarely, and once', async () => {
  const { reporter, heard, errors, makeDeaf, later } = setUp();
  makeDeaf(true);
  reporter.report(1, 'down');
  for (const [index, pauseMs] of [1_000, 2_000, 4_000].entries()) {
    await expect.poll(() => errors.length).toBe(index + 1);
    expect(later(pauseMs - 1)).toBe(0);
    expect(later(1)).toBe(1);
  }
  makeDeaf(false);
  await expect.poll(() => errors.length).toBe(4);
  expect(later(8_000)).toBe(1);
  await expect.poll(() => heard).toEqual(['1 down']);
  expect(later(100_000)).toBe(0);
});

it('only the newest status of a storage is told', async () => {
  const { reporter, heard, errors, makeDeaf, later } = setUp();
  makeDeaf(true);
  reporter.report(1, 'down');
  reporter.report(2, 'away');
  await expect.poll(() => errors.length).toBe(2);
  makeDeaf(false);
  reporter.report(1, 'work');
  await expect.poll(() => heard).toEqual(['1 work']);
  expect(later(1_000)).toBe(1);
  await expect.poll(() => heard).toEqual(['1 work', '2 away']);
});

it('nothing is told after the end', async () => {
  const { reporter, errors, makeDeaf, later } = setUp();
  makeDeaf(true);
  reporter.report(1, 'down');
  await expect.poll(() => errors.length).toBe(1);
  reporter.stop();
  expect(later(100_000)).toBe(0);
});
