import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { createGate, createKeyedTurns } from '@wharf/pace';
import { staticHash } from './static-hash.ts';

/** A slow hash with its parameters and salt inside its text. */
export interface SlowHash {
  hash(text: string): Promise<string>;
  /** Compares in a time that does not depend on where the texts differ. */
  verify(hash: string, text: string): Promise<boolean>;
}

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
   * @param of the address that asks: of each one waits at a time
   * @throws AppError RATE_LIMITED when too many wait
   */
  matches(storedHash: string | undefined, staticHash: string, of: string): Promise<boolean>;
  /** Makes the dummy hash, so that the first unknown name costs no more than others. */
  prepare(): Promise<void>;
}

/** Longer passwords would only cost processor time. */
export const MAX_PASSWORD_BYTES = 1_024;
/** Of all, and of one user or address. One password takes about 25 ms: the last of a full queue waits 6 s on an idle machine, far less than the deadline of a call. */
const MAX_WAITING = 250;

/** Passwords under a slow hash, for which a bounded number waits. */
export function createPasswords(slowHash: SlowHash): Passwords {
  const queue = { max: MAX_WAITING, refusal: 'Too many logins at the same time, try again later.' };
  const gate = createGate(1, queue);
  const turns = createKeyedTurns<number | string>(queue);
  const inTurn = <Answer>(of: number | string | undefined, work: () => Promise<Answer>) => turns(of, () => gate.run(work));
  let nobodys: Promise<string> | undefined;
  const hashOfNobody = () => {
    nobodys ??= slowHash.hash(randomBytes(32).toString('hex'));
    return nobodys;
  };
  return {
    async hash(password, of) {
      if (password === '') return '';
      const text = staticHash(checkedPassword(password));
      return inTurn(of, () => slowHash.hash(text));
    },
    async matches(storedHash, text, of) {
      const isKnown = storedHash !== undefined && storedHash !== '';
      const hash = isKnown ? storedHash : await hashOfNobody();
      const isMatch = await inTurn(of, () => slowHash.verify(hash, text));
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
