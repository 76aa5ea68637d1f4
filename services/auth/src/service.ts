import { accountReads, accountsChanged, makeIndexes, modelsOf } from '@wharf/models';
import { counter, createChangeAnnouncer, createStoreRoom, type Service, type ServiceKit, seal, unseal } from '@wharf/service-kit';
import { createAuthRpc } from './api/auth-rpc.ts';
import type { AuthConfig } from './config.ts';
import { createArgon2 } from './crypto/argon2.ts';
import { ADMIN_ID, firstStart } from './domain/first-start.ts';
import { createPasswords } from './domain/passwords.ts';
import { resetAdminPassword } from './domain/reset-admin-password.ts';
import { createParts, type EndedSession } from './parts.ts';
import { createStores } from './store/stores.ts';

export interface AuthOptions extends Pick<AuthConfig, 'adminPassword' | 'tokenHours'> {
  /** Whether the admin gets another password at this start. */
  readonly resetAdminPassword?: boolean;
}

/** The accounts: who somebody is, and with which rights. */
export function createAuthService(config: AuthOptions, kit: ServiceKit): Service {
  const models = modelsOf(kit.store);
  const stores = createStores(models, (share) => createStoreRoom(kit.store, share));
  const verifications = counter(kit.metrics, 'wharf_auth_password_verifications_total');
  const argon2id = createArgon2();
  const passwords = createPasswords({
    hash: argon2id.hash,
    verify: (hash, text) => {
      verifications.inc();
      return argon2id.verify(hash, text);
    },
  });
  /** What every write ends with: the new revision, told to everybody. */
  const announcer = createChangeAnnouncer<EndedSession>({
    nextRevision: stores.counters.nextRevision,
    publish(revision, ended) {
      kit.bus.publish(accountsChanged, { revision, ...ended });
      return kit.bus.sent();
    },
    onError: (error) => kit.logger.warn({ err: error }, 'a change of the accounts is not counted yet'),
  });
  const reads = accountReads(models, { unseal: (sealed) => unseal(kit.keys.atRest, sealed), clock: kit.clock });
  const parts = createParts(config, kit, stores, passwords, announcer, reads);

  return {
    rpc: createAuthRpc(parts, stores, () => new Date(kit.clock())),
    async start() {
      await makeIndexes(models.users);
      await makeIndexes(models.sshKeys);
      await makeIndexes(models.appPasswords);
      await makeIndexes(models.sessions);
      await makeIndexes(models.loginAttempts);
      await makeIndexes(models.loginAddresses);
      await makeIndexes(models.audit);
      await passwords.prepare();
      const isFirst = (await stores.users.find(ADMIN_ID)) === undefined;
      await firstStart({
        users: stores.users,
        reserveUserIds: stores.counters.reserveUserIds,
        insertPermanentToken: (token) => stores.permanentToken.insert(seal(kit.keys.atRest, token)),
        passwords,
        adminPassword: config.adminPassword?.reveal(),
        announcePassword,
        withdrawPassword,
        clock: kit.clock,
      });
      if (config.resetAdminPassword && !isFirst) {
        const password = await resetAdminPassword(parts.accounts, parts.twoStep);
        await parts.audit.record({ action: 'admin_password_reset', userId: ADMIN_ID, target: `user ${ADMIN_ID}` });
        process.stdout.write(
          `Password reset: log in as the admin with the password ${password} (it is shown only this once), without a second factor.\n`,
        );
      }
      // A process that ended between a change and its revision is made good for here.
      await parts.changed();
    },
    async stop() {
      announcer.stop();
      await argon2id.close();
    },
  };
}

/** The one place where a password is shown: a plain line for the person at the terminal, never the log. */
function announcePassword(password: string): void {
  process.stdout.write(`First start: log in as "admin" with the password ${password} (it is shown only this once).\n`);
}

function withdrawPassword(): void {
  process.stdout.write('First start: another process was faster; its password holds, and the one above does not.\n');
}
