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

/** Everything that auth keeps. */
export function createStores(models: Models) {
  return {
    users: createUserStore(models),
    sessions: createSessionStore(models),
    sshKeys: createSshKeyStore(models),
    appPasswords: createAppPasswordStore(models),
    loginAddresses: createLoginAddressStore(models),
    loginAttempts: createLoginAttemptStore(models),
    permanentToken: createPermanentTokenStore(models),
    twoStep: createTwoStepStore(models),
    audit: createAuditStore(models),
    counters: createCounters(models),
  };
}
