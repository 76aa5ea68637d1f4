/** What the audit trail tells of. */
export type AuditAction =
  | 'login'
  | 'login_failed'
  | 'logout'
  | 'session_revoked'
  | 'user_created'
  | 'user_updated'
  | 'user_deleted'
  | 'profile_updated'
  | 'admin_password_reset'
  | 'otp_enabled'
  | 'otp_cancelled'
  | 'recovery_codes_made'
  | 'ssh_key_added'
  | 'ssh_key_deleted'
  | 'app_password_created'
  | 'app_password_deleted'
  | 'permanent_token_changed';

/** Something that happened to logins, credentials or permissions. */
export interface AuditEntry {
  readonly at: Date;
  readonly action: AuditAction;
  /** Who did it: the id, 0 when that is not known, and the name, as known or as given. */
  readonly userId: number;
  readonly username: string;
  /** Where from; empty when that is not known. */
  readonly address: string;
  /** To what. */
  readonly target: string;
  readonly detail: string;
}

export interface Audit {
  /** Writes an entry. The action has already happened, so a failure of the store is logged and not thrown. */
  record(entry: Pick<AuditEntry, 'action'> & Partial<Omit<AuditEntry, 'at'>>): Promise<void>;
}

/** No honest name, address or text is longer than this. */
const MAX_TEXT_LENGTH = 256;

export function createAudit(parts: {
  insert(entry: AuditEntry): Promise<void>;
  /** Counts an entry with those that differ from it in time alone. */
  insertRepeated(entry: AuditEntry): Promise<void>;
  clock: () => number;
  onError: (error: unknown) => void;
}): Audit {
  const short = (text = '') => text.slice(0, MAX_TEXT_LENGTH).toWellFormed();
  return {
    async record({ action, userId = 0, username, address, target, detail }) {
      try {
        const at = new Date(parts.clock());
        const texts = { username: short(username), address: short(address), target: short(target), detail: short(detail) };
        // Failed logins are counted together, because strangers decide how many there are.
        const write = action === 'login_failed' ? parts.insertRepeated : parts.insert;
        await write({ at, action, userId, ...texts });
      } catch (error) {
        parts.onError(error);
      }
    },
  };
}
