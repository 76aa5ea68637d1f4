import { AuthServiceDefinition } from '@wharf/proto/auth';
import { createBehindOthers, createOneByOne, defineRpcService, forAdmins, forServices, forUsers } from '@wharf/service-kit';
import type { AuthParts } from '../parts.ts';
import type { AuthStores } from '../store/stores.ts';
import { addSshKey } from './add-ssh-key.ts';
import { cancelOtp } from './cancel-otp.ts';
import { checkCredential } from './check-credential.ts';
import { createAppPassword } from './create-app-password.ts';
import { createUser } from './create-user.ts';
import { deleteAppPassword } from './delete-app-password.ts';
import { deleteSshKey, deleteUserSshKey } from './delete-ssh-key.ts';
import { deleteUser } from './delete-user.ts';
import { describeUser } from './describe-user.ts';
import { generateOtp } from './generate-otp.ts';
import { generateRecoveryCodes } from './generate-recovery-codes.ts';
import { getPermanentToken } from './get-permanent-token.ts';
import { getUser } from './get-user.ts';
import { listAppPasswords } from './list-app-passwords.ts';
import { listAudit } from './list-audit.ts';
import { listSessions } from './list-sessions.ts';
import { listSshKeys, listUserSshKeys } from './list-ssh-keys.ts';
import { listUsers } from './list-users.ts';
import { login } from './login.ts';
import { loginWithHash } from './login-with-hash.ts';
import { logout } from './logout.ts';
import { noteSessionUse } from './note-session-use.ts';
import { resetPermanentToken } from './reset-permanent-token.ts';
import { revokeSession } from './revoke-session.ts';
import { setPermanentToken } from './set-permanent-token.ts';
import { updateCurrentUser } from './update-current-user.ts';
import { updateUser } from './update-user.ts';
import { verifyOtp } from './verify-otp.ts';

/** Who may call what, and what becomes an entry of the audit trail. */
export function createAuthRpc(parts: AuthParts, stores: AuthStores, now: () => Date) {
  const { accounts, appPasswords, audited, logIn, loginOfNow, permanentToken, sessionEnded: ended, sshKeys, twoStep } = parts;
  /** A user may have a thousand logins, a hundred long keys, and a hundred app passwords with paths of 4 KB. */
  const reading = createOneByOne();
  /** A QR code takes the processor for some 20 ms: sixty at once kept all others waiting. */
  const drawing = createOneByOne();
  /** An embedded store looks at all 50,000 entries for one that is asked for by address or time, and answers nobody meanwhile. */
  const searching = createOneByOne();
  const behindOthers = createBehindOthers(loginOfNow);
  return defineRpcService(AuthServiceDefinition, {
    // Only the gateway knows where a client is, and lockouts count by that.
    login: forServices(login(logIn)),
    loginWithHash: forServices(loginWithHash(logIn)),
    logout: forUsers(audited('logout', logout({ endSession: stores.sessions.remove, ended, revision: stores.counters.revision }))),
    listSessions: forUsers(
      behindOthers.call(
        reading,
        listSessions((userId) => stores.sessions.list(userId, now())),
      ),
    ),
    revokeSession: forUsers(audited('session_revoked', revokeSession({ removeOwn: stores.sessions.removeOwn, ended }))),
    noteSessionUse: forServices(noteSessionUse((id) => stores.sessions.noteUse(id, now()))),
    updateCurrentUser: forUsers(
      audited('profile_updated', updateCurrentUser(accounts, loginOfNow), ({ username, password }) => ({
        target: `user ${username}`,
        detail: password === '' ? '' : 'new password',
      })),
    ),
    generateOtp: forUsers(behindOthers.call(drawing, generateOtp(twoStep))),
    verifyOtp: forUsers(audited('otp_enabled', verifyOtp(twoStep))),
    generateRecoveryCodes: forUsers(audited('recovery_codes_made', generateRecoveryCodes(twoStep))),
    listSshKeys: forUsers(behindOthers.call(reading, listSshKeys(sshKeys))),
    addSshKey: forUsers(audited('ssh_key_added', addSshKey(sshKeys), ({ title }) => ({ target: title }))),
    deleteSshKey: forUsers(audited('ssh_key_deleted', deleteSshKey(sshKeys), ({ id }) => ({ target: `key ${id}` }))),
    listAppPasswords: forUsers(behindOthers.call(reading, listAppPasswords(appPasswords))),
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
    listUsers: forAdmins(behindOthers.call(createOneByOne(), listUsers(accounts))),
    getUser: forAdmins(getUser(accounts)),
    createUser: forAdmins(audited('user_created', createUser(accounts, loginOfNow), describeUser)),
    updateUser: forAdmins(audited('user_updated', updateUser(accounts, loginOfNow), describeUser)),
    deleteUser: forAdmins(audited('user_deleted', deleteUser(accounts), userById)),
    cancelOtp: forAdmins(audited('otp_cancelled', cancelOtp(twoStep), userById)),
    listUserSshKeys: forAdmins(behindOthers.call(reading, listUserSshKeys(sshKeys))),
    deleteUserSshKey: forAdmins(audited('ssh_key_deleted', deleteUserSshKey(sshKeys), ({ id }) => ({ target: `key ${id}` }))),
    getPermanentToken: forAdmins(getPermanentToken(permanentToken.read)),
    setPermanentToken: forAdmins(audited('permanent_token_changed', setPermanentToken(permanentToken.write))),
    resetPermanentToken: forAdmins(audited('permanent_token_changed', resetPermanentToken(permanentToken.write))),
    listAudit: forAdmins(behindOthers.call(searching, listAudit(stores.audit))),
  });
}

const userById = ({ id }: { id: number }) => ({ target: `user ${id}` });
