import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { createGate, createKeyedTurns } from '@wharf/pace';
import type { LoginTry } from './login-guard.ts';
import { staticHash } from './static-hash.ts';

/** A slow hash with its parameters and salt inside its text. */
export interface SlowHash {
  hash(text: string): Promise<string>;
  /** Compares in a time that does not depend on where the texts differ. */
  verify(hash: string, text: string): Promise<boolean>;
}

type Asking = Pick<LoginTry, 'address' | 'refuseLocked'>;

export interface Passwords {
  /**
   * What is stored of a password; the empty password is stored as the empty text, which nothing matches.
   * @param of the user who asks for it: of each one waits at a time, so that nobody keeps others from logging in; absent: the admin
   * @throws AppError INVALID_ARGUMENT; RATE_LIMITED when too many wait
   */
  hash(password: string, of?: number): Promise<string>;
  /**
   * Whether the static hash belongs to the stored one. It always costs one verification. An empty or missing stored hash is verified
   * against a dummy hash, so that the time does not tell which names exist.
   * @param by who asks: of each address one waits at a time, and those behind it cost nothing where what they are about is locked meanwhile
   * @throws AppError RATE_LIMITED when too many wait, or it is locked
   */
  matches(storedHash: string | undefined, staticHash: string, by: Asking): Promise<boolean>;
  /** Makes the dummy hash, so that the first unknown name costs no more than others. */
  prepare(): Promise<void>;
}

/** Longer passwords would only cost processor time. */
export const MAX_PASSWORD_BYTES = 1_024;
/** Of all, and of one user or address. One password takes about 25 ms: the first of each waits 6 s at most on an idle machine, far less than the deadline of a call. */
const MAX_WAITING = 250;
/** For whom there is no room: by then as many are through as may wait. */
const RETRY_AFTER_MS = 10_000;

/** Passwords under a slow hash, for which a bounded number waits. */
export function createPasswords(slowHash: SlowHash): Passwords {
  const queue = { max: MAX_WAITING, refusal: 'Too many logins at the same time, try again later.', retryAfterMs: RETRY_AFTER_MS };
  const gate = createGate(1, queue);
  const turns = createKeyedTurns<number | string>(queue);
  let nobodys: Promise<string> | undefined;
  const hashOfNobody = () => {
    nobodys ??= slowHash.hash(randomBytes(32).toString('hex'));
    return nobodys;
  };
  return {
    async hash(password, of) {
      if (password === '') return '';
      const text = staticHash(checkedPassword(password));
      return turns(of, () => gate.run(() => slowHash.hash(text)));
    },
    async matches(storedHash, text, { address, refuseLocked }) {
      const isKnown = storedHash !== undefined && storedHash !== '';
      const hash = isKnown ? storedHash : await hashOfNobody();
      const isMatch = await turns(address, async () => {
        await refuseLocked();
        return gate.run(() => slowHash.verify(hash, text));
      });
      return isKnown && isMatch;
    },
    async prepare() {
      await hashOfNobody();
    },
  };
}

/** The password, when it is short enough to be looked at. @throws AppError INVALID_ARGUMENT */
export function checkedPassword(password: string): string {
  if (password.length > MAX_PASSWORD_BYTES || Buffer.byteLength(password) > MAX_PASSWORD_BYTES)
    throw new AppError('INVALID_ARGUMENT', `password must not be longer than ${MAX_PASSWORD_BYTES} bytes`);
  return password;
}
