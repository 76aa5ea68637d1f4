import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { unlessAborted } from '@wharf/pace';
import type { UploadSession, UploadStore } from './upload-session.ts';

/** A claim that was not renewed for so long is anybody's, in milliseconds. */
const CLAIM_MS = 15_000;
/** It is renewed where so much of that is over. */
const RENEW_MS = 5_000;

/** One writer's claim on a part, on the stream or on the end of an upload. */
export interface HeldPart {
  /** As it was when the claim was made. */
  readonly session: UploadSession;
  readonly writer: string;
  /** Another writer of this process was ended for this one: what it sent to the storage may still be on its way. */
  readonly isAfterAnother: boolean;
  /** Aborted when somebody in this process takes the claim over. */
  readonly signal: AbortSignal;
  /** To be awaited before anything is written. @throws AppError FAILED_PRECONDITION: somebody else has it */
  keep(): Promise<void>;
  /** The claim has ended in the store already, together with what was noted last. */
  over(): void;
}

/** Makes sure that each part has one writer at a time, in whatever processes. */
export interface UploadClaims {
  /**
   * Runs work as the one writer, and ends the claim with it.
   *
   * @param session as whoever calls has found it. @param key as in UploadClaim. @param isPressing a writer of this process is ended, and one of another waited for
   * @returns `accepted`: the part is there already. @throws AppError FAILED_PRECONDITION: it is held elsewhere | RECORD_NOT_FOUND; what `run` throws
   */
  hold<Result>(
    session: UploadSession,
    key: string,
    isPressing: boolean,
    run: (part: HeldPart) => Promise<Result>,
  ): Promise<Result | 'accepted'>;
  /** Runs work of any length at the end of an upload: its claim is renewed whatever is done. @throws AppError as hold() */
  holdEnd<Result>(session: UploadSession, run: (end: HeldPart) => Promise<Result>): Promise<Result>;
  /** Waits until whoever writes in this process has ended; nobody is told to. */
  ended(): Promise<void>;
}

export interface UploadClaimsOptions {
  readonly store: UploadStore;
  readonly clock: () => number;
}

export function createUploadClaims({ store, clock }: UploadClaimsOptions): UploadClaims {
  const replica = randomBytes(8).toString('hex');
  /** Writers of this process, by their names; each resolves when it has ended. */
  const writing = new Map<string, { readonly stop: AbortController; readonly ended: Promise<void> }>();
  const end = async (writer: string) => {
    const known = writing.get(writer);
    // Its client stands still, or has gone on by another connection: there is nobody to answer.
    known?.stop.abort(new AppError('CANCELLED', 'this upload goes on by another connection'));
    await known?.ended;
  };
  const until = () => new Date(clock() + CLAIM_MS);

  const claim = async (known: UploadSession, key: string, writer: string, stop: AbortSignal, isPressing: boolean) => {
    const { id } = known;
    let isAfterAnother = false;
    for (const startedAt = performance.now(); ; ) {
      const outcome = await store.claim({ id, key, writer, until: until() }, new Date(clock()), known);
      if (outcome === 'gone') throw await lostUpload(store, id);
      if (outcome === 'accepted') return outcome;
      if ('session' in outcome) {
        // Its bytes must not come after ours.
        if (outcome.former !== undefined) await end(outcome.former);
        return { session: outcome.session, isAfterAnother };
      }
      if (!isPressing || performance.now() - startedAt > CLAIM_MS + RENEW_MS) throw heldElsewhere(outcome.heldUntil.getTime() - clock());
      // Those that came before. Two that waited for each other's end would wait for ever, so the newest one goes on.
      const names = [...writing.keys()];
      const earlier = names.slice(0, names.indexOf(writer)).filter((known) => known.endsWith(`-${id}-${key}`));
      isAfterAnother ||= earlier.length > 0;
      await unlessAborted<unknown>(stop, earlier.length > 0 ? Promise.all(earlier.map(end)) : delay(POLL_MS));
    }
  };

  const hold: UploadClaims['hold'] = async (session, key, isPressing, run) => {
    const { id } = session;
    const writer = `${replica}-${randomBytes(8).toString('hex')}-${id}-${key}`;
    const stop = new AbortController();
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    writing.set(writer, { stop, ended });
    let isOver = false;
    try {
      let renewedAt = performance.now();
      const claimed = await claim(session, key, writer, stop.signal, isPressing);
      isOver = claimed === 'accepted';
      if (claimed === 'accepted') return claimed;
      const keep = async () => {
        stop.signal.throwIfAborted();
        if (performance.now() - renewedAt < RENEW_MS) return;
        const at = performance.now();
        if (!(await store.renew({ id, key, writer, until: until() }))) throw heldElsewhere(CLAIM_MS);
        renewedAt = at;
      };
      const over = () => {
        isOver = true;
      };
      return await run({ ...claimed, writer, signal: stop.signal, keep, over });
    } finally {
      writing.delete(writer);
      resolve();
      // A claim that cannot be ended runs out.
      if (!isOver) await store.free({ id, key, writer }).catch(() => undefined);
    }
  };
  return {
    hold,
    async holdEnd(session, run) {
      const outcome = await hold(session, 'complete', false, async (held) => {
        const keeping = setInterval(() => void held.keep().catch(() => undefined), KEEP_MS);
        try {
          return { result: await run(held) };
        } finally {
          clearInterval(keeping);
        }
      });
      if (outcome === 'accepted') throw noUpload();
      return outcome.result;
    },
    async ended() {
      await Promise.all([...writing.values()].map((writer) => writer.ended));
    },
  };
}

/** A claim on the end of an upload is looked after so often, in milliseconds: reading what is to be verified may take minutes. */
const KEEP_MS = 2_000;

/** Between two looks at a claim of another process, in milliseconds. */
const POLL_MS = 500;

/** @param forMs at the most, unless its writer goes on */
function heldElsewhere(forMs: number): AppError {
  const details = { retryAfterMs: Math.max(0, forMs) };
  return new AppError('FAILED_PRECONDITION', 'this part of the upload comes by another connection', { details });
}

/**
 * Why an upload that was there a moment ago is nothing for its writer any more: it has gone, or somebody else goes on with it, or has brought it to its end. Only of
 * the first what is kept of it may be taken away.
 */
export async function lostUpload(store: Pick<UploadStore, 'find'>, id: string): Promise<AppError> {
  const now = await store.find(id);
  if (!now) return noUpload();
  return now.isPublished ? new AppError('FAILED_PRECONDITION', 'the upload is complete') : heldElsewhere(0);
}

export function noUpload(): AppError {
  return new AppError('RECORD_NOT_FOUND', 'there is no such upload');
}
