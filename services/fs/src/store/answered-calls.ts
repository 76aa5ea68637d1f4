import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError, isErrorCode } from '@wharf/errors';
import { isDuplicateKey, type Models, makeIndexes } from '@wharf/models';
import { type Call, isStoreFull } from '@wharf/service-kit';

/**
 * Does what a call asks for once, however often its client sends it: browsers send a request again, by themselves, whose connection was lost before its answer
 * came, and by then somebody else may have stored what it would remove or replace. A call without a key is done each time.
 *
 * @param how.leavesNothing what fails has done nothing, and is done anew
 * @throws AppError FAILED_PRECONDITION: it was asked for before, and nobody knows its answer; what `run` throws, and what it threw the first time
 */
export type Once = <Result extends object>(call: Call, run: () => Promise<Result>, how?: { leavesNothing: boolean }) => Promise<Result>;

/** An answer is known for so long, in milliseconds: a machine that slept asks again as it wakes. */
const KEPT_MS = 24 * 3_600_000;
/** Of one user and of all, through one process in that time; what goes beyond is done each time. */
const [MOST_OF_USER, MOST_OF_ALL] = [2_000, 10_000];
/** Of JSON, in characters; a longer answer is not kept. */
const MOST_ANSWER = 64 * 1024;
/** Whoever asks again waits so long for the first one, in milliseconds. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 100;

/** @param patienceMs another one is given by tests only */
export function createOnce({ answeredCalls }: Models, clock: () => number, patienceMs = PATIENCE_MS): Once {
  const takeRoom = createRoom(clock);
  let indexing: Promise<void> | undefined;
  const prepare = () => {
    indexing ??= makeIndexes(answeredCalls).catch((error: unknown) => {
      indexing = undefined;
      throw error;
    });
    return indexing;
  };
  const begin = async (_id: string, owner: string): Promise<'begun' | 'known' | 'unkept'> => {
    await prepare();
    try {
      await answeredCalls.create({ _id, owner, is_answered: false, answer: '', until: new Date(clock() + KEPT_MS) });
      return 'begun';
    } catch (error) {
      // Whoever removes makes room.
      if (isStoreFull(error)) return 'unkept';
      if (!isDuplicateKey(error)) throw error;
      // The answer to our own writing may have been lost.
      return (await answeredCalls.countDocuments({ _id, owner })) > 0 ? 'begun' : 'known';
    }
  };
  /** Where that fails whoever asks again is told that nobody knows. */
  const note = (_id: string, answer: Answer) => {
    const text = JSON.stringify(answer);
    const kept = { is_answered: true, answer: text.length > MOST_ANSWER ? '' : text };
    return answeredCalls.updateOne({ _id }, { $set: kept }).catch(() => undefined);
  };
  const earlier = async <Result>(_id: string, signal: AbortSignal): Promise<Result> => {
    for (const beganAtMs = performance.now(); performance.now() - beganAtMs < patienceMs; await wait(PAUSE_MS, undefined, { signal })) {
      const known = await answeredCalls.findOne({ _id }).lean();
      if (known && !known.is_answered) continue;
      if (!known || known.answer === '') break;
      const { result, error }: Answer = JSON.parse(known.answer);
      if (error) throw new AppError(isErrorCode(error.code) ? error.code : 'INTERNAL', error.message);
      return result as Result;
    }
    throw new AppError('FAILED_PRECONDITION', 'this was asked for before, and nobody knows what came of it: look at what is there');
  };

  return async (call, run, how) => {
    const { identity, onceKey, signal } = call;
    if (onceKey === undefined || identity?.kind !== 'user' || !takeRoom(identity.id)) return run();
    const _id = createHash('sha256').update(`${identity.id}\n${onceKey}`).digest('hex');
    const begun = await begin(_id, randomUUID());
    if (begun === 'unkept') return run();
    if (begun === 'known') return earlier(_id, signal);
    try {
      const result = await run();
      await note(_id, { result });
      return result;
    } catch (thrown) {
      const { code, message } = AppError.from(thrown);
      if (how?.leavesNothing) await answeredCalls.deleteOne({ _id }).catch(() => undefined);
      else await note(_id, { error: { code, message } });
      throw thrown;
    }
  };
}

interface Answer {
  readonly result?: object;
  readonly error?: { readonly code: string; readonly message: string };
}

/** @returns whether one more of a user may be kept */
function createRoom(clock: () => number): (userId: number) => boolean {
  let since = clock();
  let all = 0;
  const ofUsers = new Map<number, number>();
  return (userId) => {
    if (Math.abs(clock() - since) > KEPT_MS) {
      [since, all] = [clock(), 0];
      ofUsers.clear();
    }
    const own = ofUsers.get(userId) ?? 0;
    if (own >= MOST_OF_USER || all >= MOST_OF_ALL) return false;
    ofUsers.set(userId, own + 1);
    all += 1;
    return true;
  };
}
