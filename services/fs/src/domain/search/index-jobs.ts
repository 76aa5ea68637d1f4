import { AppError } from '@wharf/errors';
import type { IndexJob, IndexState, SearchIndex } from './search-index.ts';

/** Each try fails only when somebody else changed the state. */
const MAX_TRIES = 50;
const STOPPED = 'stopped before the end';

/**
 * Changes the state of the index as `edit` says, again from the start when somebody else changed it in between.
 *
 * @param edit without effects; undefined changes nothing. @returns the state after it @throws what `edit` throws
 */
export async function editState(index: SearchIndex, edit: (state: IndexState) => IndexState | undefined): Promise<IndexState> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const state = await index.readState();
    const next = edit(state);
    if (!next) return state;
    if (await index.replaceState(next)) return { ...next, revision: next.revision + 1 };
  }
  throw new AppError('STALE_VERSION', 'the search index is being changed by somebody else, please try again');
}

/** Orders a job; a walker does it. @throws AppError FAILED_PRECONDITION `index is running` */
export async function startJob(index: SearchIndex, order: Pick<IndexJob, 'kind' | 'paths' | 'depth'>): Promise<IndexState> {
  return editState(index, (state) => {
    requireIdle(state);
    return {
      ...state,
      // A build makes obsolete what is queued; an update leaves it.
      generation: order.kind === 'build' ? state.generation + 1 : state.generation,
      job: { ...order, isPrepared: false },
      isDone: false,
      error: '',
    };
  });
}

/** Ends the job where it is. @throws AppError FAILED_PRECONDITION `index is not running` */
export async function stopJob(index: SearchIndex, now: number): Promise<IndexState> {
  return editState(index, (state) => {
    if (!state.job) throw new AppError('FAILED_PRECONDITION', 'index is not running');
    return { ...ended(state, now, STOPPED), generation: state.generation + 1 };
  });
}

/** Empties the index and forgets how the last job went. @throws AppError FAILED_PRECONDITION `index is running` */
export async function clearIndex(index: SearchIndex): Promise<IndexState> {
  const state = await editState(index, (before) => {
    requireIdle(before);
    return { ...before, generation: before.generation + 1, isDone: false, lastDoneAt: undefined, error: '', mounts: undefined };
  });
  await index.clear();
  return state;
}

/** The state after a job. @param error empty when it is complete. */
export function ended(state: IndexState, now: number, error: string): IndexState {
  return { ...state, job: undefined, walks: 0, isDone: true, lastDoneAt: now, error };
}

function requireIdle(state: IndexState): void {
  if (state.job) throw new AppError('FAILED_PRECONDITION', 'index is running');
}
