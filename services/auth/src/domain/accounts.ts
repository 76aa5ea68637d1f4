import { AppError } from '@wharf/errors';
import { sliceOf } from '@wharf/pace';
import { VIRTUAL_ROOT } from '@wharf/paths';
import { ALL_PERMISSIONS, ROLE } from '@wharf/rights';
import type { Passwords } from './passwords.ts';
import type { User } from './user.ts';
import { type OwnInput, parseOwnDraft, parseUserDraft, type UserDraft, type UserInput } from './user-draft.ts';
import { parseUsername, requireVisible } from './username.ts';

interface AccountParts {
  users: {
    find(id: number): Promise<User | undefined>;
    list(page: { skip: number; limit: number }): Promise<User[]>;
    count(): Promise<number>;
    insert(user: User): Promise<void>;
    replace(before: User, after: User): Promise<boolean>;
    replaceOwn(before: User, after: User): Promise<boolean>;
    remove(id: number): Promise<boolean>;
  };
  endSessionsOf(userId: number): Promise<void>;
  /** Everything else that is kept of a user who was deleted. */
  removeBelongings(userId: number): Promise<void>;
  nextUserId(): Promise<number>;
  /** Called after every write; answers the new revision. */
  changed(): Promise<number>;
  passwords: Passwords;
  clock: () => number;
}

/** Asked when the hash of a password is there, for which many may have waited: whether the caller may still change anything. Rejects where not. */
type MayStill = () => Promise<void>;

/** Administration of users. Writes answer the revision of the accounts after them. */
export interface Accounts {
  /** One page by id, from page 1; a page under 1 is the first, and fewer than 1 per page are all. */
  list(page: number, perPage: number): Promise<{ users: User[]; total: number }>;
  /** @throws AppError RECORD_NOT_FOUND */
  get(id: number): Promise<User>;
  /** @throws AppError INVALID_ARGUMENT | UNSAFE_PATH | RECORD_EXISTS */
  create(input: UserInput, mayStill?: MayStill): Promise<{ id: number; revision: number }>;
  /**
   * Replaces a user's fields. An empty password keeps the old one; the two-step secret stays. Another password or name, and disabling or
   * enabling, end the user's sessions; other edits do not.
   * @throws AppError RECORD_NOT_FOUND | INVALID_ARGUMENT | UNSAFE_PATH | RECORD_EXISTS
   */
  update(id: number, input: UserInput, mayStill?: MayStill): Promise<number>;
  /**
   * Changes what users may change of their own account; an empty password keeps the old one. Another password or name end their sessions.
   * @throws AppError RECORD_NOT_FOUND | INVALID_ARGUMENT | RECORD_EXISTS | UNAUTHENTICATED: the password was changed, or the user disabled, since the call began
   */
  updateSelf(id: number, input: OwnInput, mayStill?: MayStill): Promise<number>;
  /** Lets a user in as the admin with this password, whatever is stored of the account: what cannot be read of it is as at the first start. @throws AppError RECORD_NOT_FOUND */
  makeAdmin(id: number, password: string): Promise<number>;
  /** Deletes a user with sessions, keys and passwords; half done, the user is disabled. @throws AppError RECORD_NOT_FOUND | FAILED_PRECONDITION */
  remove(id: number): Promise<number>;
}

type Write = (before: User, after: User) => Promise<boolean>;

/** How often an update is tried again when another call changed the same user's password meanwhile. */
const MAX_TRIES = 5;

export function createAccounts(parts: AccountParts): Accounts {
  const { users, passwords } = parts;
  const nowS = () => Math.floor(parts.clock() / 1000);
  const get = async (id: number): Promise<User> => {
    const user = await users.find(id);
    if (!user) throw new AppError('RECORD_NOT_FOUND', 'failed get old user: record not found');
    return user;
  };
  /** Writes fields of a user, and ends the user's sessions where that is due. An empty hash keeps the password. */
  const apply = async (id: number, fields: Partial<User>, write: Write): Promise<void> => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const before = await get(id);
      const { passwordHash = '', ...rest } = fields;
      const password = passwordHash === '' ? {} : { passwordHash, pwdTs: Math.max(nowS(), before.pwdTs + 1) };
      const after: User = { ...before, ...rest, ...password };
      if (!(await write(before, after))) continue;
      const endsSessions = after.pwdTs !== before.pwdTs || after.username !== before.username || after.disabled !== before.disabled;
      if (endsSessions) await parts.endSessionsOf(id);
      return;
    }
    throw new AppError('STALE_VERSION', 'the user was changed by somebody else at the same time, try again');
  };
  const change = async (id: number, fields: Partial<User>, write: Write): Promise<number> => {
    await apply(id, fields, write);
    return parts.changed();
  };

  const hash = async (password: string, mayStill?: MayStill, of?: number): Promise<string> => {
    const made = await passwords.hash(password, of);
    await mayStill?.();
    return made;
  };

  return {
    async list(page, perPage) {
      const total = await users.count();
      const slice = sliceOf(page, perPage);
      return { users: slice.skip >= total ? [] : await users.list(slice), total };
    },
    get,
    async create(input, mayStill) {
      if (input.role !== ROLE.general) throw new AppError('INVALID_ARGUMENT', 'admin or guest user can not be created');
      const draft = parseUserDraft(input);
      requireVisible(draft.username);
      const passwordHash = await hash(draft.password, mayStill);
      const id = await parts.nextUserId();
      await users.insert({ id, quotaBytes: 0, ...decided(draft), choseName: false, passwordHash, pwdTs: nowS(), otpSecret: '' });
      return { id, revision: await parts.changed() };
    },
    async update(id, input, mayStill) {
      const known = await get(id);
      if (input.role !== known.role) throw new AppError('INVALID_ARGUMENT', 'role can not be changed');
      if (input.disabled && known.role === ROLE.admin) throw new AppError('INVALID_ARGUMENT', 'admin user can not be disabled');
      // What could not be read is shown as empty: taken for the root it would open all of the tree.
      if (known.basePath === '' && input.base_path === '')
        throw new AppError('INVALID_ARGUMENT', 'base_path cannot be read: give another one');
      const draft = parseUserDraft(input);
      if (draft.username !== known.username) requireVisible(draft.username);
      const passwordHash = await hash(draft.password, mayStill);
      return change(id, { ...decided(draft), choseName: false, passwordHash }, users.replace);
    },
    async updateSelf(id, input, mayStill) {
      const { pwdTs, username } = await get(id);
      const { password, ...draft } = parseOwnDraft(input);
      if (draft.username !== username) requireVisible(draft.username);
      const passwordHash = await hash(password, mayStill, id);
      return change(id, { ...draft, passwordHash }, async (before, after) => {
        // It came while this one waited, and is not to be undone by it.
        if (before.pwdTs !== pwdTs || before.disabled) throw new AppError('UNAUTHENTICATED', 'token is invalidated');
        return users.replaceOwn(before, { ...after, choseName: before.choseName || after.username !== before.username });
      });
    },
    async makeAdmin(id, password) {
      const { username, basePath } = await get(id);
      const rights = { role: ROLE.admin, permission: ALL_PERMISSIONS, disabled: false, basePath: basePath || VIRTUAL_ROOT };
      return change(
        id,
        { ...rights, ...parseUsername(username || 'admin'), choseName: false, passwordHash: await hash(password) },
        users.replace,
      );
    },
    async remove(id) {
      const user = await get(id);
      if (user.role !== ROLE.general) throw new AppError('FAILED_PRECONDITION', 'cannot delete admin or guest');
      // The record goes last: where the store goes away on the way, the user is there, disabled, and is deleted by another call.
      await apply(id, { disabled: true }, users.replace);
      await parts.endSessionsOf(id);
      await parts.removeBelongings(id);
      await users.remove(id);
      return parts.changed();
    },
  };
}

/** The fields that a draft sets, without the text of the password. */
function decided({ password: _, ...fields }: UserDraft): Omit<UserDraft, 'password'> {
  return fields;
}
