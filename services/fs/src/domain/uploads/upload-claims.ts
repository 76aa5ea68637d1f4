import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
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
}

/** Makes sure that each part has one writer at a time, in whatever processes. */
export interface UploadClaims {
  /**
   * Runs work as the one writer, and ends the claim with it.
   *
   * @param key as in UploadClaim. @param isPressing a writer of this process is ended, and one of another waited for
   * @returns `accepted`: the part is there already. @throws AppError FAILED_PRECONDITION: it is held elsewhere | RECORD_NOT_FOUND; what `run` throws
   */
  hold<Result>(id: string, key: string, isPressing: boolean, run: (part: HeldPart) => Promise<Result>): Promise<Result | 'accepted'>;
}

export interface UploadClaimsOptions {
  readonly store: UploadStore;
  readonly clock: () => number;
  /** No other process writes to this store. */
  readonly isAlone: boolean;
}

export function createUploadClaims({ store, clock, isAlone }: UploadClaimsOptions): UploadClaims {
  const replica = randomBytes(8).toString('hex');
  const isOurs = (writer: string) => writer.startsWith(`${replica}-`);
  /** Writers of this process, by their names; each resolves when it has ended. */
  const writing = new Map<string, { readonly stop: AbortController; readonly ended: Promise<void> }>();
  const end = async (writer: string) => {
    const known = writing.get(writer);
    // Its client stands still, or has gone on by another connection: there is nobody to answer.
    known?.stop.abort(new AppError('CANCELLED', 'this upload goes on by another connection'));
    await known?.ended;
  };
  const until = () => new Date(clock() + CLAIM_MS);

  const claim = async (id: string, key: string, writer: string, isPressing: boolean) => {
    let isAfterAnother = false;
    for (const startedAt = clock(); ; ) {
      const outcome = await store.claim({ id, key, writer, until: until() }, new Date(clock()), (former) => isAlone && !isOurs(former));
      if (outcome === 'gone') throw noUpload();
      if (outcome === 'accepted') return outcome;
      if (outcome !== 'held') {
        // Its bytes must not come after ours.
        if (outcome.former !== undefined) await end(outcome.former);
        return { session: outcome.session, isAfterAnother };
      }
      if (!isPressing || clock() - startedAt > CLAIM_MS + RENEW_MS) throw heldElsewhere();
      const ours = [...writing.keys()].filter((known) => known !== writer && known.endsWith(`-${id}-${key}`));
      await Promise.all(ours.map(end));
      isAfterAnother ||= ours.length > 0;
      if (ours.length === 0) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };

  return {
    async hold(id, key, isPressing, run) {
      const writer = `${replica}-${randomBytes(8).toString('hex')}-${id}-${key}`;
      const stop = new AbortController();
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      writing.set(writer, { stop, ended });
      try {
        let renewedAt = clock();
        const claimed = await claim(id, key, writer, isPressing);
        if (claimed === 'accepted') return claimed;
        const keep = async () => {
          stop.signal.throwIfAborted();
          if (clock() - renewedAt < RENEW_MS) return;
          const at = clock();
          if (!(await store.renew({ id, key, writer, until: until() }))) throw heldElsewhere();
          renewedAt = at;
        };
        return await run({ ...claimed, writer, signal: stop.signal, keep });
      } finally {
        writing.delete(writer);
        resolve();
        // A claim that cannot be ended runs out.
        await store.free({ id, key, writer }).catch(() => undefined);
      }
    },
  };
}

/** Between two looks at a claim of another process, in milliseconds. */
const POLL_MS = 500;

function heldElsewhere(): AppError {
  return new AppError('FAILED_PRECONDITION', 'this part of the upload comes by another connection');
}

export function noUpload(): AppError {
  return new AppError('RECORD_NOT_FOUND', 'there is no such upload');
}
