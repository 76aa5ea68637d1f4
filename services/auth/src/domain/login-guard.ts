import type { Audit } from './audit.ts';
import { type Lockout, lockedOut, plainAddress } from './lockout.ts';
import type { User } from './user.ts';
import { findUsernameKey } from './username.ts';

interface LoginGuardParts {
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
  audit: Audit;
  clock: () => number;
}

/** One try to prove who somebody is. */
export interface LoginTry {
  /** Undefined: nobody has this name. */
  readonly user: User | undefined;
  readonly address: string;
  /** @throws AppError RATE_LIMITED: the address was locked meanwhile */
  refuseLocked(): Promise<void>;
  /** Counts a failure. @param isGuess false: nothing was guessed at, so the account is not in danger. @throws AppError RATE_LIMITED */
  fail(isGuess?: boolean): Promise<void>;
  /** Forgets the address's failures and remembers that it knows the account. */
  succeed(): Promise<void>;
}

/**
 * Begins a try.
 *
 * @param way what is logged in to, for the audit trail.
 * @throws AppError RATE_LIMITED: the address is locked, or the account is and does not know the address
 */
export type LoginGuard = (username: string, address: string, way: string) => Promise<LoginTry>;

/** What everything that takes a name and a password shares: finding the account, and the locks. */
export function createLoginGuard({ findUser, addresses, accounts, known, audit, clock }: LoginGuardParts): LoginGuard {
  return async (username, rawAddress, way) => {
    const address = plainAddress(rawAddress);
    const addressKey = `address ${address}`;
    const refuseLocked = async () => {
      if (await addresses.isLocked(addressKey)) throw lockedOut();
    };
    await refuseLocked();
    const usernameKey = findUsernameKey(username);
    const user = usernameKey === undefined ? undefined : await findUser(usernameKey);
    const accountKey = usernameKey === undefined ? undefined : `account ${usernameKey}`;
    const isKnown = async () => user !== undefined && (await known.has(user.id, address));
    if (accountKey !== undefined && (await accounts.isLocked(accountKey)) && !(await isKnown())) throw lockedOut();
    return {
      user,
      address,
      refuseLocked,
      async fail(isGuess = true) {
        if (!(await addresses.countFailure(addressKey))) throw lockedOut();
        if (isGuess && accountKey !== undefined) await accounts.countFailure(accountKey);
        const who = user ? { userId: user.id, username: user.username } : { username };
        await audit.record({ action: 'login_failed', ...who, address, target: way, detail: isGuess ? '' : 'no two-step code' });
      },
      async succeed() {
        await addresses.forget(addressKey);
        if (user) await known.remember(user.id, address, new Date(clock()));
      },
    };
  };
}
