import { isYounger } from '@wharf/pace';
import type { SearchIndex } from './search-index.ts';

/** How far indexing is, in the family's words. */
export interface IndexProgress {
  readonly obj_count: number;
  readonly is_done: boolean;
  /** RFC 3339. */
  readonly last_done_time: string | null;
  readonly error: string;
}

/** Reports of a job that goes on come this far apart, in milliseconds. */
const REPORT_MS = 2_000;
/** The pause between two counts of the entries, as a multiple of the time that a count takes. */
const COUNT_PAUSE = 20;

/** Says how far indexing is. */
export interface IndexProgressReports {
  of(index: SearchIndex): Promise<IndexProgress & { readonly isRunning: boolean }>;
  /** @param isFinal a job ended: reported at once, with the entries counted anew */
  report(index: SearchIndex, isFinal: boolean): Promise<void>;
}

/** @param options.report keeps the progress where admins look for it */
export function createIndexProgress(options: {
  readonly clock: () => number;
  readonly report: (progress: IndexProgress) => Promise<void>;
  readonly onError: (error: unknown) => void;
}): IndexProgressReports {
  const { clock, report: save, onError } = options;
  let reportedAt = 0;
  let counted: { readonly count: number; readonly revision: number; readonly startedAt: number; readonly pauseMs: number } | undefined;
  /** Entries in the index. The last count is answered as long as its revision is the present one and its pause has not passed. */
  const countOf = async (index: SearchIndex, revision: number): Promise<number> => {
    if (counted?.revision === revision && isYounger(counted.startedAt, clock(), counted.pauseMs)) return counted.count;
    const startedAt = clock();
    const count = await index.count();
    const tookMs = clock() - startedAt;
    counted = { count, revision, startedAt, pauseMs: tookMs * COUNT_PAUSE };
    return count;
  };
  const of = async (index: SearchIndex) => {
    const { revision, isDone, lastDoneAt, error, job } = await index.readState();
    const last_done_time = lastDoneAt === undefined ? null : new Date(lastDoneAt).toISOString();
    return { obj_count: await countOf(index, revision), is_done: isDone, last_done_time, error, isRunning: job !== undefined };
  };
  const report = async (index: SearchIndex, isFinal: boolean) => {
    if (!isFinal && isYounger(reportedAt, clock(), REPORT_MS)) return;
    reportedAt = clock();
    if (isFinal) counted = undefined;
    const { isRunning, ...progress } = await of(index);
    await save(progress).catch(onError);
  };
  return { of, report };
}
