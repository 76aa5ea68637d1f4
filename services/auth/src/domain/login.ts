import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { type Lockout, lockedOut, plainAddress } from './lockout.ts';
import type { Passwords } from './passwords.ts';
import type { Session } from './session.ts';
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
  /** Failures of addresses. */
  addresses: Lockout;
  /** Failures of accounts, whether they exist or not: a lock must not tell. */
  accounts: Lockout;
  /** The addresses that logged in to an account. */
  known: {
    has(userId: number, address: string): Promise<boolean>;
    remember(userId: number, address: string, now: Date): Promise<void>;
  };
  passwords: Passwords;
  /** Uses a code up: whether it is right for this user, whose `otpSecret` is not empty, and was never used. */
  useCode(user: User, code: string): Promise<boolean>;
  insertSession(session: Session): Promise<void>;
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
  const { addresses, accounts, known, passwords, clock } = parts;

  const openSession = async (user: User, address: string): Promise<string> => {
    const nowMs = clock();
    const iat = Math.floor(nowMs / 1000);
    const exp = iat + parts.tokenHours * 3600;
    const sid = randomBytes(SESSION_ID_BYTES).toString('base64url');
    await parts.insertSession({ id: sid, userId: user.id, address, createdAt: new Date(nowMs), expiresAt: new Date(exp * 1000) });
    return parts.sign({ username: user.username, pwd_ts: user.pwdTs, sid, iat, nbf: iat, exp });
  };

  return async ({ username, staticHash, otpCode, address: rawAddress }) => {
    const address = plainAddress(rawAddress);
    const addressKey = `address ${address}`;
    const refuseLockedAddress = async () => {
      if (await addresses.isLocked(addressKey)) throw lockedOut();
    };
    await refuseLockedAddress();
    const usernameKey = findUsernameKey(username);
    const user = usernameKey === undefined ? undefined : await parts.findUser(usernameKey);
    const accountKey = `account ${usernameKey}`;
    const isKnown = () => (user ? known.has(user.id, address) : false);
    if (usernameKey !== undefined && (await accounts.isLocked(accountKey)) && !(await isKnown())) throw lockedOut();
    const isMatch = await passwords.matches(user?.passwordHash, staticHash.toLowerCase());
    // Guesses sent side by side all pass the first check; this one keeps those behind the fifth failure from learning anything.
    await refuseLockedAddress();
    if (!user || !isMatch) {
      if (!(await addresses.countFailure(addressKey))) throw lockedOut();
      if (usernameKey !== undefined) await accounts.countFailure(accountKey);
      throw new AppError('UNAUTHENTICATED', 'Invalid username or password');
    }
    if (user.otpSecret !== '' && !(await parts.useCode(user, otpCode))) {
      if (!(await addresses.countFailure(addressKey))) throw lockedOut();
      // Clients ask for the code only after they were refused without one.
      if (otpCode !== '') await accounts.countFailure(accountKey);
      throw new AppError('OTP_REQUIRED', 'Invalid 2FA code');
    }
    const token = await openSession(user, address);
    await addresses.forget(addressKey);
    await known.remember(user.id, address, new Date(clock()));
    return token;
  };
}
