import { accountsChanged, modelsOf } from '@wharf/models';
import { AuthServiceDefinition } from '@wharf/proto/auth';
import {
  createChangeAnnouncer,
  createLoginTokens,
  defineRpcService,
  forAdmins,
  forServices,
  forUsers,
  keyedDigest,
  type Service,
  type ServiceKit,
  seal,
  unseal,
} from '@wharf/service-kit';
import { Counter } from 'prom-client';
import { addSshKey } from './api/add-ssh-key.ts';
import { createAudited } from './api/audited.ts';
import { cancelOtp } from './api/cancel-otp.ts';
import { checkCredential } from './api/check-credential.ts';
import { createAppPassword } from './api/create-app-password.ts';
import { createUser } from './api/create-user.ts';
import { deleteAppPassword } from './api/delete-app-password.ts';
import { deleteSshKey, deleteUserSshKey } from './api/delete-ssh-key.ts';
import { deleteUser } from './api/delete-user.ts';
import { describeUser } from './api/describe-user.ts';
import { generateOtp } from './api/generate-otp.ts';
import { generateRecoveryCodes } from './api/generate-recovery-codes.ts';
import { getPermanentToken } from './api/get-permanent-token.ts';
import { getUser } from './api/get-user.ts';
import { listAppPasswords } from './api/list-app-passwords.ts';
import { listAudit } from './api/list-audit.ts';
import { listSessions } from './api/list-sessions.ts';
import { listSshKeys, listUserSshKeys } from './api/list-ssh-keys.ts';
import { listUsers } from './api/list-users.ts';
import { login } from './api/login.ts';
import { loginWithHash } from './api/login-with-hash.ts';
import { logout } from './api/logout.ts';
import { noteSessionUse } from './api/note-session-use.ts';
import { resetPermanentToken } from './api/reset-permanent-token.ts';
import { revokeSession } from './api/revoke-session.ts';
import { setPermanentToken } from './api/set-permanent-token.ts';
import { updateCurrentUser } from './api/update-current-user.ts';
import { updateUser } from './api/update-user.ts';
import { verifyOtp } from './api/verify-otp.ts';
import type { AuthConfig } from './config.ts';
import { createArgon2 } from './crypto/argon2.ts';
import { qrImage } from './crypto/qr-image.ts';
import { totp } from './crypto/totp.ts';
import { createAccounts } from './domain/accounts.ts';
import { createAppPasswords } from './domain/app-passwords.ts';
import { createAudit } from './domain/audit.ts';
import { ADMIN_ID, firstStart } from './domain/first-start.ts';
import { ACCOUNT_LIMIT, ADDRESS_LIMIT, CODE_LIMIT, createLockout, PAIR_LIMIT } from './domain/lockout.ts';
import { createLogin } from './domain/login.ts';
import { createLoginGuard } from './domain/login-guard.ts';
import { createPasswords } from './domain/passwords.ts';
import { resetAdminPassword } from './domain/reset-admin-password.ts';
import { createSshKeys } from './domain/ssh-keys.ts';
import { createTwoStep } from './domain/two-step.ts';
import { createAppPasswordStore } from './store/app-passwords.ts';
import { createAuditStore } from './store/audit.ts';
import { createCounters } from './store/counters.ts';
import { createLoginAddressStore } from './store/login-addresses.ts';
import { createLoginAttemptStore } from './store/login-attempts.ts';
import { createPermanentTokenStore } from './store/permanent-token.ts';
import { createSessionStore } from './store/sessions.ts';
import { createSshKeyStore } from './store/ssh-keys.ts';
import { createTwoStepStore } from './store/two-step.ts';
import { createUserStore } from './store/users.ts';

export interface AuthOptions extends Pick<AuthConfig, 'adminPassword' | 'tokenHours'> {
  /** Whether the admin gets another password at this start. */
  readonly resetAdminPassword?: boolean;
}

/** The accounts: who somebody is and what he may do. */
export function createAuthService(config: AuthOptions, kit: ServiceKit): Service {
  const { clock, keys } = kit;
  const models = modelsOf(kit.store);
  const users = createUserStore(models);
  const sessions = createSessionStore(models);
  const sshKeyStore = createSshKeyStore(models);
  const appPasswordStore = createAppPasswordStore(models);
  const loginAddresses = createLoginAddressStore(models);
  const permanentToken = createPermanentTokenStore(models);
  const counters = createCounters(models);

  const verifications = new Counter({
    name: 'wharf_auth_password_verifications_total',
    help: 'Passwords that were verified, those of unknown names included.',
    registers: [kit.metrics],
  });
  const argon2id = createArgon2();
  const passwords = createPasswords({
    hash: argon2id.hash,
    verify: (hash, text) => {
      verifications.inc();
      return argon2id.verify(hash, text);
    },
  });

  /** What every write ends with: the new revision, told to everybody. */
  const announcer = createChangeAnnouncer({
    nextRevision: counters.nextRevision,
    publish: (revision) => kit.bus.publish(accountsChanged, { revision }),
    onError: (error) => kit.logger.warn({ err: error }, 'a change of the accounts is not counted yet'),
  });
  const changed = () => announcer.announce();
  const writeToken = async (token: string) => {
    await permanentToken.replace(seal(keys.atRest, token));
    return changed();
  };
  const readToken = async () => {
    const sealed = await permanentToken.find();
    return sealed === undefined ? undefined : unseal(keys.atRest, sealed);
  };

  const attempts = createLoginAttemptStore(models);
  const codes = createLockout(attempts, CODE_LIMIT, clock);
  const twoStep = createTwoStep({
    findUser: users.find,
    store: createTwoStepStore(models),
    totp,
    qrImage,
    seal: (text) => seal(keys.atRest, text),
    unseal: (sealed) => unseal(keys.atRest, sealed),
    digest: (text) => keyedDigest(keys.digest, text),
    endSessionsOf: sessions.removeOfUser,
    changed,
    codes,
    clock,
  });
  const auditStore = createAuditStore(models);
  const onError = (error: unknown) => kit.logger.error({ err: error }, 'an entry of the audit trail was not written');
  const audit = createAudit({ insert: auditStore.insert, insertRepeated: auditStore.insertRepeated, clock, onError });
  const inTrail = createAudited(audit);
  /** What is in the trail has written. */
  const audited: typeof inTrail = (action, handle, ...about) => inTrail(action, announcer.counted(handle), ...about);
  const guard = createLoginGuard({
    findUser: users.findByKey,
    pairs: createLockout(attempts, PAIR_LIMIT, clock),
    addresses: createLockout(attempts, ADDRESS_LIMIT, clock),
    accounts: createLockout(attempts, ACCOUNT_LIMIT, clock),
    known: loginAddresses,
    audit,
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
  const accounts = createAccounts({
    users,
    endSessionsOf: sessions.removeOfUser,
    async removeBelongings(userId) {
      await sshKeyStore.removeOfUser(userId);
      await appPasswordStore.removeOfUser(userId);
      await loginAddresses.removeOfUser(userId);
    },
    nextUserId: counters.nextUserId,
    changed,
    passwords,
    clock,
  });
  const sshKeys = createSshKeys({ findUser: users.find, keys: sshKeyStore, nextId: counters.nextSshKeyId, changed, clock });
  const appPasswords = createAppPasswords({
    guard,
    passwords,
    store: appPasswordStore,
    nextId: counters.nextAppPasswordId,
    digest: (text) => keyedDigest(keys.digest, text),
    changed,
    clock,
  });

  return {
    rpc: defineRpcService(AuthServiceDefinition, {
      // Only the gateway knows where a client is, and lockouts count by that.
      login: forServices(login(logIn)),
      loginWithHash: forServices(loginWithHash(logIn)),
      logout: forUsers(audited('logout', logout({ endSession: sessions.remove, changed, revision: counters.revision }))),
      listSessions: forUsers(listSessions((userId) => sessions.list(userId, new Date(clock())))),
      revokeSession: forUsers(audited('session_revoked', revokeSession({ removeOwn: sessions.removeOwn, changed }))),
      noteSessionUse: forServices(noteSessionUse((id) => sessions.noteUse(id, new Date(clock())))),
      updateCurrentUser: forUsers(
        audited('profile_updated', updateCurrentUser(accounts), ({ username, password }) => ({
          target: `user ${username}`,
          detail: password === '' ? '' : 'new password',
        })),
      ),
      generateOtp: forUsers(generateOtp(twoStep)),
      verifyOtp: forUsers(audited('otp_enabled', verifyOtp(twoStep))),
      generateRecoveryCodes: forUsers(audited('recovery_codes_made', generateRecoveryCodes(twoStep))),
      listSshKeys: forUsers(listSshKeys(sshKeys)),
      addSshKey: forUsers(audited('ssh_key_added', addSshKey(sshKeys), ({ title }) => ({ target: title }))),
      deleteSshKey: forUsers(audited('ssh_key_deleted', deleteSshKey(sshKeys), ({ id }) => ({ target: `key ${id}` }))),
      listAppPasswords: forUsers(listAppPasswords(appPasswords)),
      createAppPassword: forUsers(
        audited('app_password_created', createAppPassword(appPasswords), ({ name, protocols }, { id }) => ({
          target: `app password ${id} ${name}`,
          detail: protocols.join(', '),
        })),
      ),
      deleteAppPassword: forUsers(
        audited('app_password_deleted', deleteAppPassword(appPasswords), ({ id }) => ({ target: `app password ${id}` })),
      ),
      checkCredential: forServices(checkCredential(appPasswords)),
      listUsers: forAdmins(listUsers(accounts)),
      getUser: forAdmins(getUser(accounts)),
      createUser: forAdmins(audited('user_created', createUser(accounts), describeUser)),
      updateUser: forAdmins(audited('user_updated', updateUser(accounts), describeUser)),
      deleteUser: forAdmins(audited('user_deleted', deleteUser(accounts), userById)),
      cancelOtp: forAdmins(audited('otp_cancelled', cancelOtp(twoStep), userById)),
      listUserSshKeys: forAdmins(listUserSshKeys(sshKeys)),
      deleteUserSshKey: forAdmins(audited('ssh_key_deleted', deleteUserSshKey(sshKeys), ({ id }) => ({ target: `key ${id}` }))),
      getPermanentToken: forAdmins(getPermanentToken(readToken)),
      setPermanentToken: forAdmins(audited('permanent_token_changed', setPermanentToken(writeToken))),
      resetPermanentToken: forAdmins(audited('permanent_token_changed', resetPermanentToken(writeToken))),
      listAudit: forAdmins(listAudit(auditStore)),
    }),
    async start() {
      for (const model of [
        models.users,
        models.sshKeys,
        models.appPasswords,
        models.sessions,
        models.loginAttempts,
        models.loginAddresses,
        models.audit,
      ])
        await model.createIndexes();
      await passwords.prepare();
      const isFirst = (await users.find(ADMIN_ID)) === undefined;
      await firstStart({
        users,
        reserveUserIds: counters.reserveUserIds,
        insertPermanentToken: (token) => permanentToken.insert(seal(keys.atRest, token)),
        passwords,
        adminPassword: config.adminPassword?.reveal(),
        announcePassword,
        withdrawPassword,
        clock,
      });
      if (config.resetAdminPassword && !isFirst) {
        const password = await resetAdminPassword(accounts);
        await audit.record({ action: 'admin_password_reset', userId: ADMIN_ID, target: `user ${ADMIN_ID}` });
        process.stdout.write(`Password reset: log in as the admin with the password ${password} (it is shown only this once).\n`);
      }
      // A process that ended between a change and its revision is made good for here.
      await changed();
    },
    async stop() {
      announcer.stop();
      await argon2id.close();
    },
  };
}

const userById = ({ id }: { id: number }) => ({ target: `user ${id}` });

/** The one place where a password is shown: a plain line for the person at the terminal, never the log. */
function announcePassword(password: string): void {
  process.stdout.write(`First start: log in as "admin" with the password ${password} (it is shown only this once).\n`);
}

function withdrawPassword(): void {
  process.stdout.write('First start: another process was faster; its password holds, and the one above does not.\n');
}
