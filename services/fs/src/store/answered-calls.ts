import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError, isErrorCode } from '@wharf/errors';
import { isDuplicateKey, type Models, makeIndexes } from '@wharf/models';
import { createPace } from '@wharf/pace';
import { VIRTUAL_ROOT } from '@wharf/paths';
import { type Call, foreseen, forPeople, isStoreFull } from '@wharf/service-kit';
import { createShelf } from './answer-shelf.ts';

/**
 * Does what a call asks for once, however often its client sends it: browsers send a request again, by themselves, whose connection was lost before its answer
 * came, and by then somebody else may have stored what it would remove or replace. A call without a key is done each time, and so is one with the key of another.
 *
 * @param asked tells the call from others, in pieces of JSON: a client may give two of them one key by mistake
 * @param run is given the call, which tells since when it has waited
 * @param how.leavesNothing whether what failed so has done nothing: it is done anew. By default whoever asks again is told the failure
 * @throws AppError FAILED_PRECONDITION: it was asked for before, and nobody knows what came of it; what `run` throws, and what it threw the first time
 */
export type Once = <Result extends object>(
  call: Call,
  asked: Iterable<unknown>,
  run: (call: Call) => Promise<Result>,
  how?: { leavesNothing: (error: unknown) => boolean },
) => Promise<Result>;

/** An answer is known for so long, in milliseconds: a machine that slept asks again as it wakes. */
const KEPT_MS = 24 * 3_600_000;
/** Of JSON, in characters; a longer answer is not kept. */
const MOST_ANSWER = 64 * 1024;
/** Whoever asks again waits so long for the first one, in milliseconds. */
const PATIENCE_MS = 30_000;
/** Between two looks, each time twice as long. */
const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS] = [50, 1_000];

/** One attempt to write a record. */
interface Attempt {
  readonly _id: string;
  readonly owner: string;
}

/** @param patienceMs another one is given by tests only */
export function createOnce({ answeredCalls }: Models, clock: () => number, patienceMs = PATIENCE_MS): Once {
  const shelf = createShelf();
  let preparing: Promise<void> | undefined;
  const prepare = () => {
    preparing ??= (async () => {
      await makeIndexes(answeredCalls);
      const before = answeredCalls.find({ until: { $gt: new Date(clock()) } }, { is_answered: 1 }).sort({ until: 1 });
      for await (const { _id, is_answered } of before.lean<{ _id: string; is_answered: boolean }>().cursor())
        if (is_answered) shelf.put({ _id, length: 0 });
    })().catch((error: unknown) => {
      preparing = undefined;
      throw error;
    });
    return preparing;
  };
  /** Of one that has done nothing. */
  const forget = async (attempt: Attempt) => {
    await answeredCalls.deleteOne(attempt).catch(() => undefined);
  };
  /** @returns false: it was asked for before */
  const begin = async ({ _id, owner }: Attempt): Promise<boolean> => {
    try {
      await prepare();
      await answeredCalls.create({ _id, owner, is_answered: false, answer: '', until: new Date(clock() + KEPT_MS) });
      return true;
    } catch (error) {
      // It is done, as one without a key: what is removed makes room.
      if (isStoreFull(error)) return (await answeredCalls.countDocuments({ _id })) === 0;
      if (!isDuplicateKey(error)) {
        // It may be written: the answer to that was lost.
        void forget({ _id, owner });
        throw error;
      }
      // The answer to our own writing may have been lost.
      return (await answeredCalls.countDocuments({ _id, owner })) > 0;
    }
  };
  /** Where that fails whoever asks again is told that nobody knows. @param known undefined: nobody does */
  const note = async ({ _id, owner }: Attempt, userId: number, known: Answer | undefined): Promise<void> => {
    const text = known ? JSON.stringify(known) : '';
    const answer = text.length > MOST_ANSWER ? '' : text;
    try {
      await answeredCalls.updateOne({ _id, owner }, { $set: { is_answered: true, answer } });
      const gone = shelf.put({ _id, userId, length: answer.length });
      if (gone.length > 0) await answeredCalls.deleteMany({ _id: { $in: gone } });
    } catch {}
  };
  /** @returns undefined: it is ours to do, as whoever was first has left nothing */
  const findAnswer = async (attempt: Attempt, signal: AbortSignal): Promise<Answer | undefined> => {
    const { _id } = attempt;
    const beganAtMs = performance.now();
    let isThere = false;
    for (let pauseMs = SHORTEST_PAUSE_MS; performance.now() - beganAtMs < patienceMs; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      if (!isThere && (await begin(attempt))) return undefined;
      const known = await answeredCalls.findOne({ _id }).lean();
      isThere = known !== null;
      if (known?.is_answered && known.answer === '') break;
      if (known?.is_answered) return JSON.parse(known.answer);
      await wait(pauseMs, undefined, { signal });
    }
    throw new AppError('FAILED_PRECONDITION', 'this was asked for before, and nobody knows what came of it: look at what is there');
  };

  return async <Result extends object>(
    call: Call,
    asked: Iterable<unknown>,
    run: (call: Call) => Promise<Result>,
    how?: { leavesNothing: (error: unknown) => boolean },
  ) => {
    const { identity, onceKey, signal, cameAtMs = performance.now() } = call;
    if (onceKey === undefined || identity?.kind !== 'user') return run(call);
    // Below another folder the same paths are other files.
    const below = identity.basePath === VIRTUAL_ROOT ? [] : [identity.basePath];
    const attempt = { _id: await nameOf([identity.id, onceKey, ...below], asked), owner: randomUUID() };
    const known = await findAnswer(attempt, signal);
    if (known?.error) throw new AppError(isErrorCode(known.error.code) ? known.error.code : 'INTERNAL', known.error.message);
    if (known) return known.result as Result;
    if (signal.aborted) await forget(attempt);
    signal.throwIfAborted();
    try {
      const result = await run({ ...call, cameAtMs });
      await note(attempt, identity.id, { result });
      return result;
    } catch (thrown) {
      const { code, message } = AppError.from(forPeople(foreseen(thrown, signal)));
      if (how?.leavesNothing(thrown)) await forget(attempt);
      // Who has left has stopped it somewhere.
      else await note(attempt, identity.id, how || signal.aborted ? undefined : { error: { code, message } });
      throw thrown;
    }
  };
}

interface Answer {
  readonly result?: object;
  readonly error?: { readonly code: string; readonly message: string };
}

async function nameOf(caller: readonly unknown[], asked: Iterable<unknown>): Promise<string> {
  const hash = createHash('sha256').update(`${caller.join('\n')}\n`);
  const pace = createPace();
  for (const piece of asked) {
    hash.update(`${JSON.stringify(piece)}\n`);
    await pace.step();
  }
  return hash.digest('hex');
}
