import { AppError } from '@wharf/errors';
import { type Slice, sliceOf } from '@wharf/pace';
import { joinPath, parseVirtualPath } from '@wharf/paths';
import type { LoginGuard } from './login-guard.ts';
import type { Passwords } from './passwords.ts';
import { randomText } from './random-text.ts';
import { staticHash } from './static-hash.ts';
import { staysWithin } from './stays-within.ts';
import type { User } from './user.ts';

/** What a password of an app can be for. */
const PROTOCOLS: readonly string[] = ['webdav', 'ftp', 'sftp'];

/** A password that logs one app in to one account, with less than the account may. */
export interface AppPassword {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
  readonly digest: string;
  readonly protocols: readonly string[];
  readonly readOnly: boolean;
  /** What it sees of the user's tree, absolute in that. */
  readonly path: string;
  readonly createdAt: Date;
  /** Null: it does not end by itself. */
  readonly expiresAt: Date | null;
  /** To the minute; null: never. */
  readonly lastUsedAt: Date | null;
}

interface AppPasswordParts {
  guard: LoginGuard;
  passwords: Passwords;
  store: {
    list(userId: number, slice: Slice): Promise<AppPassword[]>;
    count(userId: number): Promise<number>;
    /** With lower ids. */
    countBefore(id: number, userId: number): Promise<number>;
    /** One that has not expired. */
    find(userId: number, digest: string, now: Date): Promise<AppPassword | undefined>;
    insert(appPassword: AppPassword): Promise<void>;
    remove(id: number, userId: number): Promise<boolean>;
    setLastUsed(id: number, at: Date): Promise<void>;
  };
  nextId(): Promise<number>;
  /** A digest under a key of ours. */
  digest(text: string): string;
  changed(): Promise<number>;
  clock: () => number;
}

interface AppPasswordInput {
  readonly name: string;
  readonly protocols: readonly string[];
  readonly read_only: boolean;
  readonly path: string;
  /** RFC 3339, or empty. */
  readonly expires_time: string;
}

/** A user who has logged in, and what the credential allows. */
interface Proven {
  readonly user: User;
  /** Undefined: it was the account's own password. */
  readonly appPassword: AppPassword | undefined;
  /** The folder that is the root for this credential. */
  readonly basePath: string;
}

export interface AppPasswords {
  list(userId: number, page: number, perPage: number): Promise<{ appPasswords: AppPassword[]; total: number }>;
  /** The password is shown this once. @throws AppError INVALID_ARGUMENT | UNSAFE_PATH | QUOTA_EXCEEDED */
  create(userId: number, input: AppPasswordInput): Promise<{ id: number; password: string; revision: number }>;
  /** @throws AppError RECORD_NOT_FOUND */
  remove(id: number, userId: number): Promise<number>;
  /**
   * Checks a name and a password for a protocol that knows no second step: an app password, or the account's own while its two-step
   * verification is off. Counts failures together with logins.
   * @throws AppError UNAUTHENTICATED | RATE_LIMITED | INVALID_ARGUMENT: too long
   */
  check(credential: { username: string; password: string; protocol: string; address: string }): Promise<Proven>;
}

const MAX_APP_PASSWORDS = 100;
const MAX_NAME_LENGTH = 255;
/** Without the characters that are taken for one another; five groups of five are 123 bits. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const GROUPS = 5;
/** Coarse, so that not every request writes. */
const LAST_USED_EVERY_MS = 60_000;

const tooMany = () => new AppError('QUOTA_EXCEEDED', `a user has at most ${MAX_APP_PASSWORDS} app passwords`);

export function createAppPasswords(parts: AppPasswordParts): AppPasswords {
  const { store, passwords, clock } = parts;
  const digestOf = (password: string) => parts.digest(`app password ${password.toLowerCase().replace(/[\s-]/g, '')}`);

  return {
    async list(userId, page, perPage) {
      const total = await store.count(userId);
      const slice = sliceOf(page, perPage);
      return { appPasswords: slice.skip >= total ? [] : await store.list(userId, slice), total };
    },
    async create(userId, input) {
      const now = clock();
      const draft = parseInput(input, now);
      if ((await store.count(userId)) >= MAX_APP_PASSWORDS) throw tooMany();
      const password = Array.from({ length: GROUPS }, () => randomText(ALPHABET, GROUPS)).join('-');
      const id = await parts.nextId();
      await store.insert({ ...draft, id, userId, digest: digestOf(password), createdAt: new Date(now), lastUsedAt: null });
      if (!(await staysWithin(MAX_APP_PASSWORDS, { id, userId }, store))) {
        await store.remove(id, userId);
        throw tooMany();
      }
      return { id, password, revision: await parts.changed() };
    },
    async remove(id, userId) {
      if (!(await store.remove(id, userId))) throw new AppError('RECORD_NOT_FOUND', 'app password not found');
      return parts.changed();
    },
    async check({ username, password, protocol, address }) {
      const attempt = await parts.guard(username, address, protocol);
      let { user } = attempt;
      const now = new Date(clock());
      const found = user && (await store.find(user.id, digestOf(password), now));
      const appPassword = found?.protocols.includes(protocol) ? found : undefined;
      if (!appPassword) {
        const isMatch = await passwords.matches(user?.passwordHash, staticHash(password), attempt);
        await attempt.refuseLocked();
        user = isMatch ? await attempt.userOfNow() : undefined;
        // A password that is right but does not suffice is refused like a wrong one. Otherwise passwords could be tried out here.
        if (user?.otpSecret !== '') {
          await attempt.fail('wrong name or password');
          throw new AppError('UNAUTHENTICATED', 'Invalid username or password');
        }
      }
      if (!user) throw new AppError('UNAUTHENTICATED', 'Invalid username or password');
      if (user.disabled) throw new AppError('UNAUTHENTICATED', 'Current user is disabled, replace please');
      // A right app password does not clear the count of failures. Otherwise its owner could go on guessing the account's own password.
      if (!appPassword) await attempt.forgetFailures();
      await attempt.rememberAddress();
      const usedMs = appPassword?.lastUsedAt?.getTime() ?? 0;
      if (appPassword && now.getTime() - usedMs >= LAST_USED_EVERY_MS) await store.setLastUsed(appPassword.id, now);
      return { user, appPassword, basePath: joinPath(parseVirtualPath(user.basePath), parseVirtualPath(appPassword?.path ?? '/')) };
    },
  };
}

function parseInput(input: AppPasswordInput, nowMs: number): Pick<AppPassword, 'name' | 'protocols' | 'readOnly' | 'path' | 'expiresAt'> {
  const name = input.name.trim();
  const protocols = [...new Set(input.protocols)];
  if (name === '' || name.length > MAX_NAME_LENGTH)
    throw new AppError('INVALID_ARGUMENT', `name must have 1 to ${MAX_NAME_LENGTH} characters`);
  if (protocols.length === 0 || !protocols.every((each) => PROTOCOLS.includes(each)))
    throw new AppError('INVALID_ARGUMENT', `protocols must be some of ${PROTOCOLS.join(', ')}`);
  const expiresMs = input.expires_time === '' ? undefined : Date.parse(input.expires_time);
  if (expiresMs !== undefined && !(expiresMs > nowMs))
    throw new AppError('INVALID_ARGUMENT', 'expires_time must be a time to come, as in 2030-01-31T12:00:00Z');
  return {
    name,
    protocols,
    readOnly: input.read_only,
    path: parseVirtualPath(input.path),
    expiresAt: expiresMs === undefined ? null : new Date(expiresMs),
  };
}
