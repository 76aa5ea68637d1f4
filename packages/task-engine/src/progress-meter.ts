import type { TaskRecord } from '@wharf/models';
import type { TaskProgress } from './task-kind.ts';

/** The share of the newest measurement in the speed that is shown. */
const NEWEST_SHARE = 0.4;
/** Measurements over a shorter time say nothing, in milliseconds. */
const MIN_INTERVAL_MS = 200;

type Shown = Pick<TaskRecord, 'status' | 'phase' | 'progress' | 'done_bytes' | 'total_bytes' | 'speed' | 'eta'>;

export interface ProgressMeter {
  note(progress: TaskProgress): void;
  hasNews(): boolean;
  /** What is to be written: everything that is shown, or nothing when there is no news. */
  take(): Partial<Shown>;
  /** What a task shows that succeeded. */
  finished(): Partial<Shown>;
}

/** Turns what a run says into what clients see: percent, speed and the time that is left. */
export function createProgressMeter(record: TaskRecord, clock: () => number = () => performance.now()): ProgressMeter {
  let { status, phase, progress: percent, done_bytes: doneBytes, total_bytes: totalBytes } = record;
  let isPercentGiven = false;
  let hasNews = false;
  let speed = 0;
  let measured = { doneBytes, atMs: clock() };

  const measure = () => {
    const atMs = clock();
    const intervalMs = atMs - measured.atMs;
    if (intervalMs < MIN_INTERVAL_MS) return;
    // Work that is done again after a retry runs backwards; that is no speed.
    const newest = Math.max(0, ((doneBytes - measured.doneBytes) / intervalMs) * 1_000);
    speed = speed === 0 ? newest : speed + NEWEST_SHARE * (newest - speed);
    measured = { doneBytes, atMs };
  };

  return {
    note(progress) {
      hasNews = true;
      status = progress.status ?? status;
      phase = progress.phase ?? phase;
      doneBytes = count(progress.doneBytes) ?? doneBytes;
      totalBytes = count(progress.totalBytes) ?? totalBytes;
      if (progress.percent !== undefined) isPercentGiven = true;
      if (!isPercentGiven) percent = totalBytes > 0 ? clamped((doneBytes / totalBytes) * 100) : percent;
      else if (progress.percent !== undefined) percent = clamped(progress.percent);
    },
    hasNews: () => hasNews,
    take() {
      if (!hasNews) return {};
      hasNews = false;
      measure();
      const left = totalBytes - doneBytes;
      const eta = speed > 0 && left >= 0 && totalBytes > 0 ? exact(Math.ceil(left / speed)) : null;
      return { status, phase, progress: percent, done_bytes: doneBytes, total_bytes: totalBytes, speed: exact(Math.round(speed)), eta };
    },
    finished() {
      const bytes = Math.max(totalBytes, doneBytes);
      return { status, progress: 100, done_bytes: bytes, total_bytes: bytes };
    },
  };
}

/** What is no number of bytes, or more than can be told, says nothing: a download tool may say anything. */
const count = (value: number | undefined) =>
  value !== undefined && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? Math.floor(value) : undefined;
/** What goes over the wire is a whole number up to 2^53 - 1; a list with another one in it could not be sent at all. */
const exact = (value: number) => Math.min(Number.MAX_SAFE_INTEGER, value);
const clamped = (percent: number) => (Number.isFinite(percent) ? Math.min(100, Math.max(0, percent)) : 0);
