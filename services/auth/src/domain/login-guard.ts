import type { Audit } from './audit.ts';
import { type Lockout, lockedOut } from './lockout.ts';
import type { User } from './user.ts';
import { findUsernameKey } from './username.ts';

interface LoginGuardParts {
  findUser(usernameKey: string): Promise<User | undefined>;
  /** Failures of an address with an account. */
  pairs: Lockout;
  /** Failures of addresses with any account. */
  addresses: Lockout;
  /** Failures of accounts, whether they exist or not: a lock must not tell. */
  accounts: Lockout;
  /** The addresses that logged in to an account. */
  known: {
    has(userId: number, address: string): Promise<boolean>;
    remember(userId: number, address: string, now: Date): Promise<void>;
  };
  audit: Audit;
  /** An address as it is counted and remembered. */
  plainAddress(address: string): string;
  clock: () => number;
}

/** One attempt to log in. */
export interface LoginTry {
  /** Undefined: nobody has this name. */
  readonly user: User | undefined;
  readonly address: string;
  /** The user as of now, for whoever has waited for a hash. Undefined: the password is another one since the try began, or nobody has the name. */
  userOfNow(): Promise<User | undefined>;
  /** @throws AppError RATE_LIMITED: what this is about was locked meanwhile */
  refuseLocked(): Promise<void>;
  /** Counts a failure. @throws AppError RATE_LIMITED: there were too many meanwhile */
  fail(reason: Failure): Promise<void>;
  /** Forgets the failures of this address with this account, and no others. */
  forgetFailures(): Promise<void>;
  /** Remembers that the account was logged in to from this address. */
  rememberAddress(): Promise<void>;
}

/**
 * Why an attempt failed, in the words of the audit trail. A login without a code guesses nothing, so it does not count against the account.
 */
type Failure = 'wrong name or password' | 'wrong two-step code' | 'no two-step code';

/**
 * Begins a try.
 *
 * @param way what is logged in to, for the audit trail.
 * @throws AppError RATE_LIMITED: the address is locked, for all accounts or for this one, or the account is and does not know the address
 */
export type LoginGuard = (username: string, address: string, way: string) => Promise<LoginTry>;

/** Finds accounts and counts failures, for every way to log in with a name and a password. */
export function createLoginGuard({ findUser, pairs, addresses, accounts, known, audit, plainAddress, clock }: LoginGuardParts): LoginGuard {
  return async (username, rawAddress, way) => {
    const address = plainAddress(rawAddress);
    const addressKey = `address ${address}`;
    // What cannot be a name is counted as one account.
    const usernameKey = findUsernameKey(username) ?? '';
    const accountKey = `account ${usernameKey}`;
    const pairKey = `pair ${address} ${usernameKey}`;
    const user = usernameKey === '' ? undefined : await findUser(usernameKey);
    const isKnown = async () => user !== undefined && (await known.has(user.id, address));
    const refuseLocked = async () => {
      if ((await addresses.isLocked(addressKey)) || (await pairs.isLocked(pairKey))) throw lockedOut();
      if ((await accounts.isLocked(accountKey)) && !(await isKnown())) throw lockedOut();
    };
    await refuseLocked();
    return {
      user,
      address,
      async userOfNow() {
        const now = user && (await findUser(usernameKey));
        return now?.id === user?.id && now?.passwordHash === user?.passwordHash ? now : undefined;
      },
      refuseLocked,
      async fail(reason) {
        if (!(await pairs.countFailure(pairKey)) || !(await addresses.countFailure(addressKey))) throw lockedOut();
        if (reason !== 'no two-step code') await accounts.countFailure(accountKey);
        const who = user ? { userId: user.id, username: user.username } : { username };
        await audit.record({ action: 'login_failed', ...who, address, target: way, detail: reason });
      },
      async forgetFailures() {
        const failures = await pairs.forget(pairKey);
        if (failures > 0) await addresses.takeBack(addressKey, failures);
      },
      async rememberAddress() {
        if (user) await known.remember(user.id, address, new Date(clock()));
      },
    };
  };
}
