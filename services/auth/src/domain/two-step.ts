import { timingSafeEqual } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { type Lockout, lockedOut } from './lockout.ts';
import { randomText } from './random-text.ts';
import type { User } from './user.ts';

/** The length of a step, in seconds: a code is good for its own and for the one before and after, for clocks that differ. */
export const STEP_S = 30;
const NEIGHBOURS = [0, -1, 1];
/** How long a secret waits to be verified. */
const PENDING_MS = 10 * 60_000;

const RECOVERY_CODES = 10;
/** Without the characters that are taken for one another; three groups of four are 59 bits. */
const RECOVERY_ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const RECOVERY_GROUPS = 3;
const GROUP_LENGTH = 4;
const NEEDS_PRESENT_CODE =
  'otp_code is missing: replacing two-step verification takes a code of the one that is on, or a recovery code, as otp_code';
/** Longer input is no code of either kind. */
const MAX_CODE_LENGTH = 32;

/** Time-based one-time passwords. */
export interface Totp {
  /** Base32 without padding. */
  makeSecret(): string;
  /** Six digits. @param step units of {@link STEP_S} since 1970 */
  codeAt(secret: string, step: number): string;
  /** The `otpauth:` address that an authenticator reads. */
  uri(secret: string, username: string): string;
}

/** Where two-step secrets are kept, sealed. Each write but the first and the last is compare-and-set: false means that nothing happened. */
export interface TwoStepStore {
  setPending(userId: number, sealed: string, until: Date): Promise<void>;
  findPending(userId: number, now: Date): Promise<string | undefined>;
  /** Makes the waiting secret the user's in the place of `before` (empty: none), with no recovery codes and the codes up to `step` used up. */
  confirm(userId: number, before: string, sealed: string, step: number): Promise<boolean>;
  /** Uses up the codes up to `step`. False when one of that step or a later one was used before. */
  useStep(userId: number, sealed: string, step: number): Promise<boolean>;
  useRecovery(userId: number, sealed: string, digest: string): Promise<boolean>;
  setRecovery(userId: number, sealed: string, digests: string[]): Promise<boolean>;
  /** Removes everything. */
  clear(userId: number): Promise<void>;
}

interface TwoStepParts {
  findUser(id: number): Promise<User | undefined>;
  store: TwoStepStore;
  totp: Totp;
  /** A data URL of a PNG. */
  qrImage(text: string): Promise<string>;
  seal(text: string): string;
  unseal(sealed: string): string;
  /** A digest under a key of ours. */
  digest(text: string): string;
  endSessionsOf(userId: number): Promise<void>;
  /** Called after every change; answers the new revision. */
  changed(): Promise<number>;
  /** Counts wrong codes of accounts. */
  codes: Lockout;
  clock: () => number;
  /** By this machine alone. A store whose clock is off must not have codes of everybody refused, which come from clocks of their own. */
  machineClock: () => number;
}

/** Two-step verification of accounts. */
export interface TwoStep {
  /** A secret that waits to be verified, in the place of one that waited. @throws AppError RECORD_NOT_FOUND */
  generate(userId: number): Promise<{ secret: string; qr: string }>;
  /**
   * Makes the secret that waits the user's; answers the revision. Where there is one already, `otp_code` is a code of that, or a recovery
   * code.
   * @throws AppError INVALID_ARGUMENT: the code does not fit the secret that waits, that is another one, or `otp_code` does not fit | RATE_LIMITED
   */
  verify(userId: number, input: { code: string; secret: string; otp_code: string }): Promise<number>;
  /** @throws AppError INVALID_ARGUMENT: the code does not fit | FAILED_PRECONDITION: it is off | RATE_LIMITED | RECORD_NOT_FOUND */
  makeRecoveryCodes(userId: number, code: string): Promise<{ codes: string[]; revision: number }>;
  /** Switches it off; answers the revision. @throws AppError RECORD_NOT_FOUND */
  cancel(userId: number): Promise<number>;
  /**
   * Uses a code up: whether it is right, and was never used before. For a user who has a secret.
   * @throws AppError RATE_LIMITED: there were too many wrong ones; recovery codes are taken even then
   */
  useCode(user: User, code: string): Promise<boolean>;
}

export function createTwoStep(parts: TwoStepParts): TwoStep {
  const { store, totp } = parts;

  const getUser = async (id: number): Promise<User> => {
    const user = await parts.findUser(id);
    if (!user) throw new AppError('RECORD_NOT_FOUND', 'failed get old user: record not found');
    return user;
  };
  /** The step whose code this is; undefined: none of those that count now. */
  const stepOf = (secret: string, code: string): number | undefined => {
    if (!isSixDigits(code)) return undefined;
    const digits = withoutSpaces(code);
    const steps = [parts.clock(), parts.machineClock()].flatMap((ms) => {
      const now = Math.floor(ms / (STEP_S * 1000));
      return NEIGHBOURS.map((offset) => now + offset);
    });
    return steps.find((step) => step >= 0 && isEqual(totp.codeAt(secret, step), digits));
  };
  const digestOf = (userId: number, code: string) => parts.digest(`recovery code ${userId} ${code.toLowerCase().replace(/[\s-]/g, '')}`);

  const useCode = async (user: User, code: string): Promise<boolean> => {
    if (code === '' || code.length > MAX_CODE_LENGTH) return false;
    // A recovery code cannot be guessed. So the owner can log in by it while somebody with the password tries codes.
    if (!isSixDigits(code)) return store.useRecovery(user.id, user.otpSecret, digestOf(user.id, code));
    // The failure is counted before the code is checked. So guesses at once are bounded like guesses in a row.
    const key = `code ${user.id}`;
    if (!(await parts.codes.countFailure(key))) throw lockedOut();
    const step = stepOf(parts.unseal(user.otpSecret), code);
    if (step === undefined || !(await store.useStep(user.id, user.otpSecret, step))) return false;
    // Only this attempt is taken back. Earlier failures stay counted.
    await parts.codes.takeBack(key, 1);
    return true;
  };

  return {
    async generate(userId) {
      const { username } = await getUser(userId);
      const secret = totp.makeSecret();
      await store.setPending(userId, parts.seal(secret), new Date(parts.clock() + PENDING_MS));
      return { secret, qr: await parts.qrImage(totp.uri(secret, username)) };
    },
    async verify(userId, input) {
      const user = await getUser(userId);
      const isReplaced = user.otpSecret !== '';
      if (isReplaced && input.otp_code === '') throw new AppError('INVALID_ARGUMENT', NEEDS_PRESENT_CODE);
      const sealed = await store.findPending(userId, new Date(parts.clock()));
      if (sealed === undefined) throw wrongCode();
      const secret = parts.unseal(sealed);
      const step = isEqual(secret, input.secret.trim()) ? stepOf(secret, input.code) : undefined;
      if (step === undefined) throw wrongCode();
      if (isReplaced && !(await useCode(user, input.otp_code))) throw wrongCode();
      if (!(await store.confirm(userId, user.otpSecret, sealed, step))) throw wrongCode();
      return parts.changed();
    },
    async makeRecoveryCodes(userId, code) {
      const user = await getUser(userId);
      if (user.otpSecret === '') throw new AppError('FAILED_PRECONDITION', 'two-step verification is off');
      if (!(await useCode(user, code))) throw wrongCode();
      const codes = Array.from({ length: RECOVERY_CODES }, makeRecoveryCode);
      const digests = codes.map((each) => digestOf(userId, each));
      if (!(await store.setRecovery(userId, user.otpSecret, digests))) throw wrongCode();
      return { codes, revision: await parts.changed() };
    },
    async cancel(userId) {
      const user = await getUser(userId);
      const endSessions = async () => {
        if (user.otpSecret !== '') await parts.endSessionsOf(userId);
      };
      // First, too: where the store goes away after the next step, another call finds it off, and ends none.
      await endSessions();
      await store.clear(userId);
      await endSessions();
      return parts.changed();
    },
    useCode,
  };
}

const makeRecoveryCode = () => Array.from({ length: RECOVERY_GROUPS }, () => randomText(RECOVERY_ALPHABET, GROUP_LENGTH)).join('-');

const withoutSpaces = (code: string) => code.replace(/\s/g, '');
const isSixDigits = (code: string) => /^\d{6}$/.test(withoutSpaces(code));

const wrongCode = () => new AppError('INVALID_ARGUMENT', 'Invalid 2FA code');

function isEqual(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
