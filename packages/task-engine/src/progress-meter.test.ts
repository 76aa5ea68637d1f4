import type { TaskRecord } from '@wharf/models';
import { describe, expect, it } from 'vitest';
import { createProgressMeter } from './progress-meter.ts';

const FRESH: TaskRecord = {
  _id: 'a',
  kind: 'copy',
  list: 'copy',
  name: 'a',
  creator_id: 0,
  creator: '',
  creator_role: -1,
  keys: [],
  run_at: new Date(0),
  waiting: false,
  done: false,
  paused: false,
  forget: false,
  state: 1,
  status: '',
  phase: '',
  progress: 0,
  done_bytes: 0,
  total_bytes: 0,
  speed: 0,
  eta: null,
  error: '',
  failures: 0,
  losses: 0,
  fence: 1,
  worker: 'w',
  lease_until: new Date(0),
  has_cleanup: false,
  input: '{}',
  checkpoint: '',
  created_at: new Date(0),
  start_time: null,
  end_time: null,
  updated_at: new Date(0),
  revision: 1,
};

/** A meter of a task, with a clock that the test turns. */
function setUp(record: Partial<TaskRecord> = {}) {
  const time = { ms: 0 };
  return { time, meter: createProgressMeter({ ...FRESH, ...record }, () => time.ms) };
}

describe('the progress of a task', () => {
  it('percent comes from the bytes, speed and estimate from the time', () => {
    const { time, meter } = setUp();
    meter.note({ doneBytes: 200, totalBytes: 1_000, status: 'copying', phase: 'bytes' });
    time.ms = 1_000;
    expect(meter.take()).toEqual({
      status: 'copying',
      phase: 'bytes',
      progress: 20,
      done_bytes: 200,
      total_bytes: 1_000,
      speed: 200,
      eta: 4,
    });
  });

  it('speed follows what happens, smoothly, and never runs backwards', () => {
    const { time, meter } = setUp({ total_bytes: 10_000 });
    const speeds = [1_000, 2_000, 6_000, 0].map((doneBytes, second) => {
      meter.note({ doneBytes });
      time.ms = (second + 1) * 1_000;
      return meter.take().speed;
    });
    expect(speeds).toEqual([1_000, 1_000, 2_200, 1_320]);
  });

  it('without news there is nothing to write', () => {
    const { meter } = setUp();
    expect([meter.hasNews(), meter.take()]).toEqual([false, {}]);
    meter.note({ status: 'listing' });
    expect(meter.hasNews()).toBe(true);
    meter.take();
    expect([meter.hasNews(), meter.take()]).toEqual([false, {}]);
  });

  it.each([
    [{ doneBytes: 5, totalBytes: 0 }, 0],
    [{ doneBytes: 300, totalBytes: 100 }, 100],
    [{ percent: 250 }, 100],
    [{ percent: -1 }, 0],
    [{ percent: Number.NaN }, 0],
    [{ percent: Number.POSITIVE_INFINITY }, 0],
    [{ doneBytes: Number.NaN, totalBytes: Number.NaN }, 0],
    [{ doneBytes: -5, totalBytes: 100 }, 0],
    [{ percent: 33.3, doneBytes: 90, totalBytes: 100 }, 33.3],
  ])('%j is %d percent: always a number from 0 to 100', (progress, percent) => {
    const { meter } = setUp();
    meter.note(progress);
    expect(meter.take().progress).toBe(percent);
  });

  it('numbers that cannot be told are not shown, and none comes of others', () => {
    const { time, meter } = setUp();
    meter.note({ doneBytes: 1e300, totalBytes: 1e300 });
    expect(meter.take()).toMatchObject({ done_bytes: 0, total_bytes: 0 });
    meter.note({ doneBytes: Number.MAX_SAFE_INTEGER - 1, totalBytes: Number.MAX_SAFE_INTEGER });
    time.ms = 250;
    expect(meter.take().speed).toBe(Number.MAX_SAFE_INTEGER);
    const slow = setUp();
    slow.meter.note({ doneBytes: 1, totalBytes: Number.MAX_SAFE_INTEGER });
    slow.time.ms = 600_000;
    expect(slow.meter.take().eta).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('a percent that was given once is not replaced by that of the bytes', () => {
    const { meter } = setUp();
    meter.note({ percent: 10 });
    meter.note({ doneBytes: 50, totalBytes: 100 });
    expect(meter.take().progress).toBe(10);
  });

  it('an unknown total has no estimate, and what succeeded has all of its bytes', () => {
    const { time, meter } = setUp();
    meter.note({ doneBytes: 500 });
    time.ms = 1_000;
    expect(meter.take()).toMatchObject({ speed: 500, eta: null, progress: 0 });
    expect(meter.finished()).toMatchObject({ progress: 100, done_bytes: 500, total_bytes: 500 });
  });
});
