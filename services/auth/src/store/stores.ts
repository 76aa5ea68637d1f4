import type { Models } from '@wharf/models';
import { createAppPasswordStore } from './app-passwords.ts';
import { createAuditStore } from './audit.ts';
import { createCounters } from './counters.ts';
import { createLoginAddressStore } from './login-addresses.ts';
import { createLoginAttemptStore } from './login-attempts.ts';
import { createPermanentTokenStore } from './permanent-token.ts';
import { createSessionStore } from './sessions.ts';
import { createSshKeyStore } from './ssh-keys.ts';
import { createTwoStepStore } from './two-step.ts';
import { createUserStore } from './users.ts';

export type AuthStores = ReturnType<typeof createStores>;

/** Logins of all users together that a bounded store has room for; beyond them each user has few. */
const SESSIONS_SHARE = 0.01;
/** The same of failed attempts, of which strangers decide how many there are. */
const ATTEMPTS_SHARE = 0.1;

/** Everything that auth keeps. @param roomFor how many records a share of the store is */
export function createStores(models: Models, roomFor: (share: number) => () => Promise<number>) {
  return {
    users: createUserStore(models),
    sessions: createSessionStore(models, roomFor(SESSIONS_SHARE)),
    sshKeys: createSshKeyStore(models),
    appPasswords: createAppPasswordStore(models),
    loginAddresses: createLoginAddressStore(models),
    loginAttempts: createLoginAttemptStore(models, roomFor(ATTEMPTS_SHARE)),
    permanentToken: createPermanentTokenStore(models),
    twoStep: createTwoStepStore(models),
    audit: createAuditStore(models),
    counters: createCounters(models),
  };
}
