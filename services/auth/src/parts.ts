import {
  type AccountReads,
  type ChangeAnnouncer,
  createLoginsOfNow,
  createLoginTokens,
  keyedDigest,
  plainAddress,
  type ServiceKit,
  seal,
  unseal,
} from '@wharf/service-kit';
import { createAudited } from './api/audited.ts';
import type { AuthConfig } from './config.ts';
import { qrImage } from './crypto/qr-image.ts';
import { totp } from './crypto/totp.ts';
import { createAccounts } from './domain/accounts.ts';
import { createAppPasswords } from './domain/app-passwords.ts';
import { createAudit } from './domain/audit.ts';
import { ACCOUNT_LIMIT, ADDRESS_LIMIT, CODE_LIMIT, createLockout, PAIR_LIMIT } from './domain/lockout.ts';
import { createLogin } from './domain/login.ts';
import { createLoginGuard } from './domain/login-guard.ts';
import type { Passwords } from './domain/passwords.ts';
import { createSshKeys } from './domain/ssh-keys.ts';
import { createTwoStep } from './domain/two-step.ts';
import type { AuthStores } from './store/stores.ts';

export type AuthParts = ReturnType<typeof createParts>;

/** All that changed. */
export interface EndedSession {
  readonly sessionId: string;
}

/** What the RPCs work with, over what is kept. @param announcer tells everybody that the accounts have changed */
export function createParts(
  config: Pick<AuthConfig, 'tokenHours'>,
  kit: Pick<ServiceKit, 'clock' | 'machineClock' | 'keys' | 'logger'>,
  stores: AuthStores,
  passwords: Passwords,
  announcer: ChangeAnnouncer<EndedSession>,
  reads: AccountReads,
) {
  const { clock, keys } = kit;
  const { users, sessions } = stores;
  const changed = () => announcer.announce();
  const sessionEnded = (sessionId: string) => announcer.announce({ sessionId });
  const lockout = (limit: Parameters<typeof createLockout>[1]) => createLockout(stores.loginAttempts, limit, clock);
  const atRest = { seal: (text: string) => seal(keys.atRest, text), unseal: (sealed: string) => unseal(keys.atRest, sealed) };
  const digest = (text: string) => keyedDigest(keys.digest, text);
  const audit = createAudit({
    insert: stores.audit.insert,
    insertRepeated: stores.audit.insertRepeated,
    clock,
    onError: (error) => kit.logger.error({ err: error }, 'an entry of the audit trail was not written'),
  });
  const inTrail = createAudited(audit);
  /** An audited handler writes, so its change is counted, too. */
  const audited: typeof inTrail = (action, handle, ...about) => inTrail(action, announcer.counted(handle), ...about);
  const twoStep = createTwoStep({
    findUser: users.find,
    store: stores.twoStep,
    totp,
    qrImage,
    ...atRest,
    digest,
    endSessionsOf: sessions.removeOfUser,
    changed,
    codes: lockout(CODE_LIMIT),
    clock,
    machineClock: kit.machineClock,
  });
  const guard = createLoginGuard({
    findUser: users.findByKey,
    pairs: lockout(PAIR_LIMIT),
    addresses: lockout(ADDRESS_LIMIT),
    accounts: lockout(ACCOUNT_LIMIT),
    known: stores.loginAddresses,
    audit,
    plainAddress,
    clock,
  });
  const logIn = createLogin({
    guard,
    audit,
    passwords,
    useCode: twoStep.useCode,
    async insertSession(session) {
      await sessions.insert(session);
      if (await sessions.removeSurplus(session.userId)) await changed();
    },
    sign: createLoginTokens(keys.jwt, clock).sign,
    clock,
    tokenHours: config.tokenHours,
  });
  return {
    audit,
    audited,
    changed,
    sessionEnded,
    twoStep,
    logIn,
    loginOfNow: createLoginsOfNow(reads),
    accounts: accountsOver(stores, { changed, passwords, clock }),
    sshKeys: createSshKeys({ findUser: users.find, keys: stores.sshKeys, nextId: stores.counters.nextSshKeyId, changed, clock }),
    appPasswords: createAppPasswords({
      guard,
      passwords,
      store: stores.appPasswords,
      nextId: stores.counters.nextAppPasswordId,
      digest,
      changed,
      clock,
    }),
    permanentToken: permanentTokenOver(stores, atRest, changed),
  };
}

const accountsOver = (stores: AuthStores, rest: Pick<Parameters<typeof createAccounts>[0], 'changed' | 'passwords' | 'clock'>) =>
  createAccounts({
    ...rest,
    users: stores.users,
    endSessionsOf: stores.sessions.removeOfUser,
    async removeBelongings(userId) {
      await stores.sshKeys.removeOfUser(userId);
      await stores.appPasswords.removeOfUser(userId);
      await stores.loginAddresses.removeOfUser(userId);
    },
    nextUserId: stores.counters.nextUserId,
  });

/** The permanent token is sealed in the store. */
const permanentTokenOver = (
  { permanentToken }: AuthStores,
  atRest: { seal(text: string): string; unseal(sealed: string): string },
  changed: () => Promise<number>,
) => ({
  async read(): Promise<string | undefined> {
    const sealed = await permanentToken.find();
    return sealed === undefined ? undefined : atRest.unseal(sealed);
  },
  async write(token: string): Promise<number> {
    await permanentToken.replace(atRest.seal(token));
    return changed();
  },
});
