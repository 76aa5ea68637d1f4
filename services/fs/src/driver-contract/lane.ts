import { AppError } from '@wharf/errors';
import type { CallOptions, FileContent } from './storage-driver.ts';
import { abortError, throwIfAborted } from './storage-error.ts';

/** Leaves a lane; more than once is as once. */
export type Leave = () => void;

/**
 * So much may be under way at a time; the others wait, callers by turns. No caller has more than a share of it, however much it asks for: one
 * whose transfers stand still holds up nobody else. Those who are patient leave a quarter to those who are not.
 */
export interface Lane {
  /** @param room what of the lane is taken; default 1. @throws AppError OVERLOADED: the turn did not come in time | CANCELLED */
  enter(options: CallOptions | undefined, room?: number): Promise<Leave>;
  /** @param room as of enter(). @throws the same, and what the work throws */
  run<Result>(options: CallOptions | undefined, work: () => Promise<Result>, room?: number): Promise<Result>;
}

export interface LaneOptions {
  readonly size: number;
  /** Of the size, for each caller; one that has nothing of it may take more than that at once. */
  readonly share: number;
  /** What of the size is left to callers that have nothing of it; default 0. Few with a share each would have all of it. */
  readonly leftToOthers?: number;
  /** How long to wait for a turn; undefined: as long as the caller does. */
  readonly waitMs?: number;
}

interface Waiting {
  readonly caller: string | undefined;
  readonly isPatient: boolean;
  readonly room: number;
  readonly take: () => void;
}

export function createLane({ size, share, leftToOthers = 0, waitMs }: LaneOptions): Lane {
  /** What waits of each caller, the one whose turn is next first. */
  const waiting = new Map<string | undefined, Set<Waiting>>();
  const taken = new Map<string | undefined, number>();
  let [takenInAll, takenPatiently] = [0, 0];
  const patientShare = size - Math.max(1, Math.floor(size / 4));

  const isWithinShare = ({ caller, isPatient, room }: Pick<Waiting, 'caller' | 'isPatient' | 'room'>) => {
    if (isPatient && takenPatiently > 0 && takenPatiently + room > patientShare) return false;
    const own = taken.get(caller) ?? 0;
    if (own > 0 && takenInAll + room > size - leftToOthers) return false;
    return caller === undefined || own === 0 || own + room <= share;
  };
  const place = (caller: string | undefined, isPatient: boolean, room: number): Leave => {
    takenInAll += room;
    if (isPatient) takenPatiently += room;
    taken.set(caller, (taken.get(caller) ?? 0) + room);
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      takenInAll -= room;
      if (isPatient) takenPatiently -= room;
      const left = (taken.get(caller) ?? room) - room;
      if (left === 0) taken.delete(caller);
      else taken.set(caller, left);
      admit();
    };
  };
  /** Whoever waits for room is not passed by others; whoever waits for an own transfer to end is. */
  const admit = (): void => {
    for (const [caller, own] of waiting)
      for (const next of own) {
        if (!isWithinShare(next)) continue;
        if (takenInAll + next.room > size) return;
        waiting.delete(caller);
        next.take();
        // Behind the others; this loop comes to it again.
        if (own.size > 0) waiting.set(caller, own);
        break;
      }
  };
  const enter = async ({ signal, caller, isPatient: waits }: CallOptions = {}, room = 1): Promise<Leave> => {
    throwIfAborted(signal);
    const isPatient = waits ?? false;
    return new Promise<Leave>((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const others = waiting.get(caller) ?? new Set();
      const end = () => {
        others.delete(own);
        if (others.size === 0) waiting.delete(caller);
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      };
      const own = {
        caller,
        isPatient,
        room,
        take() {
          end();
          resolve(place(caller, isPatient, room));
        },
      };
      const giveUp = (error: unknown) => {
        end();
        reject(error);
        admit();
      };
      const abort = () => giveUp(signal && abortError(signal));
      others.add(own);
      waiting.set(caller, others);
      admit();
      if (!others.has(own)) return;
      signal?.addEventListener('abort', abort, { once: true });
      if (waitMs !== undefined && !isPatient)
        timer = setTimeout(() => giveUp(new AppError('OVERLOADED', 'the storage is busy, try again in a moment')), waitMs);
    });
  };
  return {
    enter,
    async run(options, work, room) {
      const leave = await enter(options, room);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}

/** Opens a file: it is left when it is read or when the call is aborted. */
export async function readUntilLeft(
  leave: Leave,
  open: () => Promise<FileContent>,
  options: CallOptions | undefined,
): Promise<FileContent> {
  const signal = options?.signal;
  try {
    const content = await open();
    if (content.whole !== undefined) {
      leave();
      return content;
    }
    const end = () => {
      signal?.removeEventListener('abort', end);
      leave();
    };
    // Whoever does not read aborts.
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted) end();
    return { entry: content.entry, [Symbol.asyncIterator]: () => leavingAtEnd(content, end) };
  } catch (error) {
    leave();
    throw error;
  }
}

async function* leavingAtEnd(content: FileContent, leave: Leave): AsyncGenerator<Uint8Array, void> {
  try {
    yield* content;
  } finally {
    leave();
  }
}
