import { AppError } from '@wharf/errors';
import { isDuplicateKey, type Models, QUOTAS, raiseCounter, readUser, type UserRecord, userFromStore } from '@wharf/models';
import type { User } from '../domain/user.ts';

interface UserStore {
  find(id: number): Promise<User | undefined>;
  findByKey(usernameKey: string): Promise<User | undefined>;
  /** Users by id. @param limit 0 means all */
  list(page: { skip: number; limit: number }): Promise<User[]>;
  count(): Promise<number>;
  /** @throws AppError RECORD_EXISTS: the name (or the id) is taken */
  insert(user: User): Promise<void>;
  /**
   * Writes everything but the two-step secret, when the password is still that of `before`.
   * @returns false when somebody changed the password or deleted the user in between
   * @throws AppError RECORD_EXISTS: the name is taken
   */
  replace(before: User, after: User): Promise<boolean>;
  /** The same for what users decide of themselves: name, password and single-sign-on id. */
  replaceOwn(before: User, after: User): Promise<boolean>;
  /** False when there was none. */
  remove(id: number): Promise<boolean>;
}

export function createUserStore(models: Models): UserStore {
  const { users } = models;
  const write = async (before: User, after: User, fields: Partial<UserRecord>): Promise<boolean> => {
    // Where none can be read it counts as 0: one without an end, and a list, of which each part is compared, too.
    const isNone = [{ pwd_ts: { $not: { $gt: 0, $lte: Number.MAX_VALUE } } }, { pwd_ts: { $type: 'array' as const } }];
    const filter = { _id: before.id, ...(before.pwdTs === 0 ? { $or: isNone } : { pwd_ts: before.pwdTs }) };
    return (await refusingDuplicates(after, () => users.findOneAndUpdate(filter, { $set: fields }).lean())) !== null;
  };
  const quotasChanged = () => raiseCounter(models.authCounters, QUOTAS);
  return {
    async find(id) {
      const record = await readUser(models, id);
      return record && fromRecord(record);
    },
    async findByKey(usernameKey) {
      const record = await users.findOne({ username_key: usernameKey }).lean<UserRecord>();
      return record ? fromRecord(userFromStore(record)) : undefined;
    },
    async list({ skip, limit }) {
      const records = await users.find().sort({ _id: 1 }).skip(skip).limit(limit).lean<UserRecord[]>();
      return records.map(userFromStore).map(fromRecord);
    },
    count: () => users.countDocuments().exec(),
    async insert(user) {
      await refusingDuplicates(user, () => users.create(toRecord(user)));
      if (user.quotaBytes > 0) await quotasChanged();
    },
    async replace(before, after) {
      const { _id: _, otp_secret: __, ...fields } = toRecord(after);
      const isWritten = await write(before, after, fields);
      // What `before` says may be old.
      if (before.quotaBytes > 0 || after.quotaBytes > 0) await quotasChanged();
      return isWritten;
    },
    replaceOwn(before, after) {
      const { username, username_key, password_hash, pwd_ts, sso_id } = toRecord(after);
      return write(before, after, { username, username_key, chose_name: after.choseName, password_hash, pwd_ts, sso_id });
    },
    async remove(id) {
      const isRemoved = (await users.deleteOne({ _id: id })).deletedCount > 0;
      await quotasChanged();
      return isRemoved;
    },
  };
}

async function refusingDuplicates<Answer>(user: User, write: () => Promise<Answer>): Promise<Answer> {
  try {
    return await write();
  } catch (cause) {
    if (isDuplicateKey(cause)) throw new AppError('RECORD_EXISTS', `a user with the name [${user.username}] already exists`, { cause });
    throw cause;
  }
}

function fromRecord(record: UserRecord): User {
  return {
    id: record._id,
    username: record.username,
    usernameKey: record.username_key,
    choseName: record.chose_name === true,
    passwordHash: record.password_hash,
    pwdTs: record.pwd_ts,
    basePath: record.base_path,
    role: record.role,
    permission: record.permission,
    disabled: record.disabled,
    ssoId: record.sso_id,
    allowLdap: record.allow_ldap,
    quotaBytes: record.quota_bytes ?? 0,
    otpSecret: record.otp_secret,
  };
}

function toRecord(user: User): UserRecord {
  return {
    _id: user.id,
    username: user.username,
    username_key: user.usernameKey,
    chose_name: user.choseName,
    password_hash: user.passwordHash,
    pwd_ts: user.pwdTs,
    base_path: user.basePath,
    role: user.role,
    permission: user.permission,
    disabled: user.disabled,
    sso_id: user.ssoId,
    allow_ldap: user.allowLdap,
    quota_bytes: user.quotaBytes,
    otp_secret: user.otpSecret,
  };
}
