import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { z } from 'zod';
import type { KeptItem } from './kept-item.ts';
import type { CallOptions } from './storage-driver.ts';
import { Watchdog } from './watchdog.ts';

/** What a server gives for a while. */
export interface Grant {
  /** What each call is sent with. */
  readonly token: string;
  /** From then on the server does not take the token any more. Absent: it is used until it is refused. */
  readonly expiresAt?: Date | undefined;
  /** What the next one is asked for with, where the server gave another. */
  readonly secret?: string | undefined;
}

export interface CredentialOptions {
  /** An item of the storage, `kept` and `secret`, in which all replicas share what they were given. */
  readonly item: string;
  /** What the admin entered. Where it is another text than before, what was kept is void. */
  readonly secret: string;
  /** Asks the server for another token, once. @throws AppError STORAGE_LOGIN_FAILED: the secret is not taken (any more) */
  readonly renew: (secret: string, options: CallOptions) => Promise<Grant>;
}

/** A token that expires, one for all replicas. */
export interface Credential {
  /**
   * Runs a call with the token. Where the call ends with STORAGE_LOGIN_FAILED, a new token is asked for, by one replica alone, and the call
   * runs once more: it must have handed nothing out by then.
   *
   * @throws what the call throws, and what `renew` throws
   */
  use<Result>(call: (token: string) => Promise<Result>, options?: CallOptions): Promise<Result>;
}

/** How long one replica may take to ask the server, in milliseconds. */
const RENEW_MS = 10_000;
/** A claim that stands so long is that of a replica that has ended, in milliseconds by the clock of whoever waits. */
const CLAIM_MS = 15_000;
/** Between looks at what another replica has kept, in milliseconds: doubled from the first to the last. */
const FIRST_LOOK_MS = 25;
const LAST_LOOK_MS = 1_000;
/** Where nothing has worked with so many tokens in a row a server is asked for no other so soon, in milliseconds: each call would be a login, and two changes of the storage. */
const MOST_IN_VAIN = 3;
const FRESH_MS = 10_000;
/** A token that ends sooner is used until it is refused: the server's clock is behind ours, or says anything. */
const LEAST_LIFE_MS = 60_000;
/** How often a new token is brought to be kept: the others cannot get it elsewhere. */
const SAVE_TRIES = 4;

const stateShape = z.object({
  /** Tells what the admin entered, without holding it. */
  entered: z.string(),
  secret: z.string(),
  token: z.string().optional(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number().optional(),
  /** Of the replica that asks the server. */
  claim: z.string().optional(),
});
type State = z.output<typeof stateShape>;
const stateText = z
  .string()
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue('not JSON');
      return z.NEVER;
    }
  })
  .pipe(stateShape);

/** How time passes; replaced by tests. */
export interface Timing {
  /** Milliseconds that only grow. */
  readonly clock: () => number;
  readonly pause: (ms: number) => Promise<unknown>;
}

const SYSTEM: Timing = { clock: () => performance.now(), pause: (ms) => wait(ms, undefined, { ref: false }) };

/** The credential of an opened storage. Its item holds JSON: a digest of what was entered, the present secret and token, and who asks for others. */
export function openCredential(item: KeptItem, { secret, renew }: Omit<CredentialOptions, 'item'>, timing: Timing = SYSTEM): Credential {
  const shared = createSharedState(item, secret, timing);
  let renewing: Promise<string> | undefined;
  let last = { atMs: Number.NEGATIVE_INFINITY, inVain: 0 };

  const renewAs = async ({ text, state: { claim: _, ...state } }: Kept): Promise<string> => {
    try {
      const grant = await renew(state.secret, { signal: AbortSignal.timeout(RENEW_MS) });
      last = { atMs: timing.clock(), inVain: last.inVain + 1 };
      await shared.keep(text, {
        ...state,
        token: grant.token,
        expiresAt: endOf(grant),
        secret: grant.secret ?? state.secret,
      });
      return grant.token;
    } catch (error) {
      await shared.replace(text, state).catch(() => undefined);
      throw error;
    }
  };
  const renewed = async (refused: string | undefined): Promise<string> => {
    let seen = { claim: '', sinceMs: 0 };
    for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(2 * lookMs, LAST_LOOK_MS)) {
      const { text, state } = await shared.read();
      const token = tokenOf(state, refused);
      if (token !== undefined) return token;
      if (state.claim !== undefined && state.claim !== seen.claim) seen = { claim: state.claim, sinceMs: timing.clock() };
      if (state.claim !== undefined && timing.clock() - seen.sinceMs < CLAIM_MS) {
        await timing.pause(lookMs);
        continue;
      }
      if (refused !== undefined && last.inVain >= MOST_IN_VAIN && timing.clock() - last.atMs < FRESH_MS)
        throw new AppError('STORAGE_LOGIN_FAILED', 'the server refuses the token that it has just given');
      const claimed = await shared.replace(text, { ...state, claim: randomUUID() });
      if (claimed) return renewAs(claimed);
    }
  };
  /** @param refused a token that is good no more */
  const tokenBut = async (refused: string | undefined, { signal }: CallOptions): Promise<string> => {
    const known = tokenOf(shared.known(), refused);
    if (known !== undefined) return known;
    renewing ??= renewed(refused).finally(() => {
      renewing = undefined;
    });
    const watchdog = new Watchdog(signal);
    try {
      return await watchdog.guard(renewing);
    } finally {
      watchdog.dispose();
    }
  };

  const run = async <Result>(call: (token: string) => Promise<Result>, token: string): Promise<Result> => {
    const result = await call(token);
    last.inVain = 0;
    return result;
  };

  return {
    async use(call, options = {}) {
      const token = await tokenBut(undefined, options);
      try {
        return await run(call, token);
      } catch (error) {
        if (!AppError.is(error, 'STORAGE_LOGIN_FAILED')) throw error;
        return run(call, await tokenBut(token, options));
      }
    },
  };
}

function endOf({ expiresAt }: Grant): number | undefined {
  const endMs = expiresAt?.getTime() ?? Number.NaN;
  return endMs - Date.now() > LEAST_LIFE_MS ? endMs : undefined;
}

function tokenOf({ token, expiresAt = Number.POSITIVE_INFINITY }: State, refused: string | undefined): string | undefined {
  return token === refused || expiresAt <= Date.now() ? undefined : token;
}

/** What is kept, and the text that it was read from. */
interface Kept {
  readonly text: string;
  readonly state: State;
}

interface SharedState {
  /** As it is known here. */
  known(): State;
  /** As it is stored. */
  read(): Promise<Kept>;
  /** @returns undefined where something else is stored than `before` */
  replace(before: string, after: State): Promise<Kept | undefined>;
  /** The same for what must not be lost: it is known here in any case, and brought again with the next look where it could not be stored. */
  keep(before: string, after: State): Promise<void>;
}

function createSharedState(kept: KeptItem, secret: string, { pause }: Timing): SharedState {
  const entered = createHash('sha256').update(secret).digest('base64url').slice(0, 16);
  const parse = (text: string): State => {
    const { data } = stateText.safeParse(text);
    return data?.entered === entered ? data : { entered, secret };
  };
  let unsaved: { before: string; after: State } | undefined;
  const save = async () => {
    if (unsaved) await kept.replace(unsaved.before, JSON.stringify(unsaved.after));
    unsaved = undefined;
  };
  return {
    known: () => unsaved?.after ?? parse(kept.value),
    async read() {
      await save();
      const text = await kept.replace(kept.value, kept.value);
      return { text, state: parse(text) };
    },
    async replace(before, after) {
      const text = JSON.stringify(after);
      return (await kept.replace(before, text)) === text ? { text, state: after } : undefined;
    },
    async keep(before, after) {
      unsaved = { before, after };
      for (let tries = SAVE_TRIES; unsaved && tries > 0; tries -= 1) await save().catch(() => pause(LAST_LOOK_MS));
    },
  };
}
