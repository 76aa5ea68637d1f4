import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { type Attempts, afterFailure, isLocked, lockoutKey } from './lockout.ts';
import type { Passwords } from './passwords.ts';
import type { User } from './user.ts';
import { findUsernameKey } from './username.ts';

interface LoginAttempt {
  readonly username: string;
  /** Any letter case. */
  readonly staticHash: string;
  /** Empty when none was given. */
  readonly otpCode: string;
  /** The client's address. */
  readonly address: string;
}

interface LoginParts {
  findUser(usernameKey: string): Promise<User | undefined>;
  attempts: {
    find(key: string): Promise<Attempts | undefined>;
    replace(key: string, before: Attempts | undefined, after: Attempts): Promise<boolean>;
    clear(key: string): Promise<void>;
  };
  passwords: Passwords;
  /** Whether the code is right for this user, whose `otpSecret` is not empty. */
  checkOtp(user: User, code: string): Promise<boolean>;
  insertSession(session: { id: string; userId: number; address: string; createdAt: Date; expiresAt: Date }): Promise<void>;
  sign(claims: { username: string; pwd_ts: number; sid: string; iat: number; nbf: number; exp: number }): string;
  clock: () => number;
  tokenHours: number;
}

const SESSION_ID_BYTES = 32;

/**
 * Logs in: answers a token whose session is stored before the token is handed out. A disabled user gets one too; it is refused where it
 * is used.
 *
 * @throws AppError UNAUTHENTICATED | OTP_REQUIRED | RATE_LIMITED, with the family's texts
 */
export type Login = (attempt: LoginAttempt) => Promise<string>;

export function createLogin(parts: LoginParts): Login {
  const { attempts, passwords, clock } = parts;

  const refuseLocked = async (key: string) => {
    if (isLocked(await attempts.find(key), clock())) throw locked();
  };
  /** Counts a failure; each round that does not write means that another one did, and five of those lock. */
  const countFailure = async (key: string): Promise<void> => {
    for (;;) {
      const before = await attempts.find(key);
      const after = afterFailure(before, clock());
      if (!after) throw locked();
      if (await attempts.replace(key, before, after)) return;
    }
  };
  const openSession = async (user: User, address: string): Promise<string> => {
    const nowMs = clock();
    const iat = Math.floor(nowMs / 1000);
    const exp = iat + parts.tokenHours * 3600;
    const sid = randomBytes(SESSION_ID_BYTES).toString('base64url');
    await parts.insertSession({ id: sid, userId: user.id, address, createdAt: new Date(nowMs), expiresAt: new Date(exp * 1000) });
    return parts.sign({ username: user.username, pwd_ts: user.pwdTs, sid, iat, nbf: iat, exp });
  };

  return async ({ username, staticHash, otpCode, address }) => {
    const key = lockoutKey(address);
    await refuseLocked(key);
    const usernameKey = findUsernameKey(username);
    const user = usernameKey === undefined ? undefined : await parts.findUser(usernameKey);
    const isMatch = await passwords.matches(user?.passwordHash, staticHash.toLowerCase());
    // Guesses sent side by side all pass the first check; this one keeps those behind the fifth failure from learning anything.
    await refuseLocked(key);
    if (!user || !isMatch) {
      await countFailure(key);
      throw new AppError('UNAUTHENTICATED', 'Invalid username or password');
    }
    if (user.otpSecret !== '' && !(await parts.checkOtp(user, otpCode))) {
      await countFailure(key);
      throw new AppError('OTP_REQUIRED', 'Invalid 2FA code');
    }
    const token = await openSession(user, address);
    await attempts.clear(key);
    return token;
  };
}

const locked = () =>
  new AppError(
    'RATE_LIMITED',
    'Too many unsuccessful sign-in attempts have been made using an incorrect username or password, Try again later.',
  );
