import { AppError, type ErrorCode } from '@wharf/errors';
import type { Call } from './rpc/call.ts';

/** How often a change that could not be counted is tried again, in milliseconds. */
const RETRY_MS = 1_000;

/** A handler that fails with one of these has written nothing. Any other failure may have come after a write. */
const NOTHING_TRIED: ReadonlySet<ErrorCode> = new Set([
  'INVALID_ARGUMENT',
  'UNSAFE_PATH',
  'UNAUTHENTICATED',
  'OTP_REQUIRED',
  'PERMISSION_DENIED',
  'RATE_LIMITED',
]);

type Handle<Request, Answer> = (request: Request, call: Call) => Promise<Answer>;

/** Counts the changes of an owner's data and announces them. It tries until that succeeds. */
export interface ChangeAnnouncer<About> {
  /**
   * Counts a change that was written, and tells everybody.
   * @param about what the event says in addition to the revision.
   * @returns the revision that has the change. @throws what counting throws; then it is counted as soon as that can be done
   */
  announce(about?: About): Promise<number>;
  /** Wraps a handler that writes. A failed call is counted too, because it may have written something. */
  counted<Request, Answer>(handle: Handle<Request, Answer>): Handle<Request, Answer>;
  /** Stops trying. Nothing is lost: owners count once at their start. */
  stop(): void;
}

export function createChangeAnnouncer<About = never>(options: {
  nextRevision: () => Promise<number>;
  /** Answers when the event is on its way: whoever hears of the change by its call's answer comes after that. Never rejects. */
  publish: (revision: number, about: About | undefined) => Promise<void>;
  onError: (error: unknown) => void;
}): ChangeAnnouncer<About> {
  let retry: NodeJS.Timeout | undefined;
  let isStopped = false;

  const count = async (about?: About): Promise<number> => {
    const revision = await options.nextRevision();
    // One that waited to be counted is in this revision too, and nobody knows what it was about.
    const isAlone = retry === undefined;
    clearTimeout(retry);
    retry = undefined;
    await options.publish(revision, isAlone ? about : undefined);
    return revision;
  };
  const countSoon = (ms: number) => {
    if (isStopped || retry) return;
    const attempt = () =>
      count().catch((error) => {
        options.onError(error);
        retry = undefined;
        countSoon(RETRY_MS);
      });
    retry = setTimeout(() => void attempt(), ms);
    retry.unref();
  };
  return {
    async announce(about) {
      try {
        return await count(about);
      } catch (error) {
        countSoon(RETRY_MS);
        throw error;
      }
    },
    counted: (handle) => async (request, call) => {
      try {
        return await handle(request, call);
      } catch (error) {
        if (!AppError.is(error) || !NOTHING_TRIED.has(error.code)) countSoon(0);
        throw error;
      }
    },
    stop() {
      isStopped = true;
      clearTimeout(retry);
    },
  };
}
