import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import type { Audit } from './audit.ts';
import type { LoginGuard } from './login-guard.ts';
import type { Passwords } from './passwords.ts';
import type { Session } from './session.ts';
import type { User } from './user.ts';

interface LoginAttempt {
  readonly username: string;
  /** Any letter case. */
  readonly staticHash: string;
  /** Empty when none was given. */
  readonly otpCode: string;
  /** The client's address. */
  readonly address: string;
  /** What the client calls itself. */
  readonly userAgent: string;
}

interface LoginParts {
  guard: LoginGuard;
  audit: Audit;
  passwords: Passwords;
  /** Uses a code up: whether it is right for this user, whose `otpSecret` is not empty, and was never used. @throws AppError RATE_LIMITED */
  useCode(user: User, code: string): Promise<boolean>;
  /** Stores a session, and ends the one that was used least recently where the user has too many. */
  insertSession(session: Session): Promise<void>;
  sign(claims: { username: string; pwd_ts: number; sid: string; iat: number; nbf: number; exp: number }): string;
  clock: () => number;
  tokenHours: number;
}

const SESSION_ID_BYTES = 32;
/** Browsers need about 120 characters. */
const MAX_DEVICE_LENGTH = 256;

/**
 * Logs in: answers a token whose session is stored before the token is handed out. A disabled user gets one too; it is refused where it
 * is used.
 *
 * @throws AppError UNAUTHENTICATED | OTP_REQUIRED | RATE_LIMITED, with the family's texts
 */
export type Login = (attempt: LoginAttempt) => Promise<string>;

export function createLogin(parts: LoginParts): Login {
  const openSession = async (user: User, address: string, userAgent: string): Promise<string> => {
    const nowMs = parts.clock();
    const iat = Math.floor(nowMs / 1000);
    const exp = iat + parts.tokenHours * 3600;
    const sid = randomBytes(SESSION_ID_BYTES).toString('base64url');
    const device = userAgent.slice(0, MAX_DEVICE_LENGTH).toWellFormed();
    await parts.insertSession({ id: sid, userId: user.id, address, device, createdAt: new Date(nowMs), expiresAt: new Date(exp * 1000) });
    return parts.sign({ username: user.username, pwd_ts: user.pwdTs, sid, iat, nbf: iat, exp });
  };

  return async ({ username, staticHash, otpCode, address, userAgent }) => {
    const attempt = await parts.guard(username, address, 'api');
    const isMatch = await parts.passwords.matches(attempt.user?.passwordHash, staticHash.toLowerCase(), attempt);
    // Guesses that were sent at once have all passed the first check. Those after the fifth failure must learn nothing.
    await attempt.refuseLocked();
    // The second factor may have been switched on while this waited for others.
    const user = isMatch ? await attempt.userOfNow() : undefined;
    if (!user) {
      await attempt.fail('wrong name or password');
      throw new AppError('UNAUTHENTICATED', 'Invalid username or password');
    }
    if (user.otpSecret !== '' && !(await parts.useCode(user, otpCode))) {
      // Clients ask the user for the code only after a login without a code was refused.
      await attempt.fail(otpCode === '' ? 'no two-step code' : 'wrong two-step code');
      throw new AppError('OTP_REQUIRED', 'Invalid 2FA code');
    }
    const token = await openSession(user, attempt.address, userAgent);
    await attempt.forgetFailures();
    await attempt.rememberAddress();
    await parts.audit.record({ action: 'login', userId: user.id, username: user.username, address: attempt.address, target: 'api' });
    return token;
  };
}
