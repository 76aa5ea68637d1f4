import { AppError } from '@wharf/errors';
import { ALL_PERMISSIONS, ROLE } from '@wharf/rights';
import type { Passwords } from './passwords.ts';
import { makePermanentToken } from './permanent-token.ts';
import { READABLE, randomText } from './random-text.ts';
import type { User } from './user.ts';

interface FirstStartParts {
  users: { find(id: number): Promise<User | undefined>; insert(user: User): Promise<void> };
  reserveUserIds(upTo: number): Promise<void>;
  /** Writes the token unless there is one. */
  insertPermanentToken(token: string): Promise<void>;
  passwords: Passwords;
  /** Undefined: a random one is made. */
  adminPassword: string | undefined;
  /**
   * Receives the random password before the admin is made with it. If the process died after making the admin, nobody would know the
   * password.
   */
  announcePassword(password: string): void;
  /** Called when another process made the admin in between, with its own password: the one that was shown is not valid. */
  withdrawPassword(): void;
  clock: () => number;
}

export const ADMIN_ID = 1;
const GUEST_ID = 2;
/** 55 characters to choose from make 115 bits. */
const PASSWORD_LENGTH = 20;

/** A password that nobody can guess and a person can type. */
export const newPassword = (): string => randomText(READABLE, PASSWORD_LENGTH);

/**
 * Makes what an installation cannot be without: the admin, the guest (disabled, without a password) and the permanent token. What exists
 * is left as it is; of several processes that start at once, unique keys let one make each.
 */
export async function firstStart(parts: FirstStartParts): Promise<void> {
  const { users, passwords } = parts;
  await parts.reserveUserIds(GUEST_ID);
  const user = (id: number, username: string, rest: Pick<User, 'role' | 'permission' | 'disabled' | 'passwordHash'>): User => ({
    id,
    username,
    usernameKey: username,
    pwdTs: Math.floor(parts.clock() / 1000),
    basePath: '/',
    ssoId: '',
    quotaBytes: 0,
    choseName: false,
    allowLdap: true,
    otpSecret: '',
    ...rest,
  });

  if (!(await users.find(ADMIN_ID))) {
    const password = parts.adminPassword ?? newPassword();
    const passwordHash = await passwords.hash(password);
    const isShown = parts.adminPassword === undefined && !(await users.find(ADMIN_ID));
    if (isShown) parts.announcePassword(password);
    const admin = user(ADMIN_ID, 'admin', { role: ROLE.admin, permission: ALL_PERMISSIONS, disabled: false, passwordHash });
    const isMine = await insertOnce(users, admin);
    if (isShown && !isMine) parts.withdrawPassword();
  }
  if (!(await users.find(GUEST_ID)))
    await insertOnce(users, user(GUEST_ID, 'guest', { role: ROLE.guest, permission: 0, disabled: true, passwordHash: '' }));
  await parts.insertPermanentToken(makePermanentToken());
}

/** False when another process was first. */
async function insertOnce(users: FirstStartParts['users'], user: User): Promise<boolean> {
  try {
    await users.insert(user);
    return true;
  } catch (error) {
    if (AppError.is(error, 'RECORD_EXISTS')) return false;
    throw error;
  }
}
