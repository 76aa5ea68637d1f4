import { createHash, timingSafeEqual } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { isYounger } from '@wharf/pace';
import { ROLE } from '@wharf/rights';
import { LRUCache } from 'lru-cache';
import { createStoreAsker, MAX_KEPT_MS } from '../ask-store.ts';
import { MAX_CACHE_AGE_MS } from '../revisioned-cache.ts';
import type { UserIdentity } from './identity.ts';
import type { LoginTokens } from './login-tokens.ts';

/** What an account's checks need to know of a user. */
export interface AccountUser {
  readonly id: number;
  readonly username: string;
  readonly role: number;
  readonly permission: number;
  readonly base_path: string;
  readonly disabled: boolean;
  readonly sso_id: string;
  readonly otp: boolean;
  readonly allow_ldap: boolean;
  /** Absent: none. */
  readonly quota_bytes?: number;
  /** Unix seconds of the last password change. */
  readonly pwd_ts: number;
}

/** Reads of the accounts in the store. */
export interface AccountReads {
  /** The user whom a session belongs to; undefined when the session ended or never was. */
  findSessionUser(sessionId: string): Promise<{ userId: number; user: AccountUser | undefined } | undefined>;
  /** By exactly this name. */
  findUserByName(username: string): Promise<AccountUser | undefined>;
  findUserByRole(role: number): Promise<AccountUser | undefined>;
  /** Undefined before the first start is over. */
  readPermanentToken(): Promise<string | undefined>;
}

/** Somebody whose right to call was just established. */
export interface Caller {
  readonly identity: UserIdentity;
  readonly user: AccountUser;
}

/** Establishes who sends a request, from its `Authorization` header alone. */
export interface Callers {
  /**
   * @param authorization the raw token, with or without `Bearer `; empty or undefined is the guest.
   * @param options.isReading whether values up to a minute old may be used while the store does not answer, unless a change was announced
   * since.
   * @throws AppError UNAUTHENTICATED with the family's texts | STORAGE_UNAVAILABLE: the store does not answer
   */
  establish(authorization: string | undefined, options?: { isReading: boolean }): Promise<Caller>;
  /** Forgets what was read: an account, a session or the permanent token changed. */
  invalidate(): void;
  /** Forgets what an event of auth is about: the session that ended, or everything, also where an event before it was missed. @returns whether it was everything */
  hear(event: { readonly revision: number; readonly sessionId?: string | undefined }): boolean;
}

const REMEMBERED_SESSIONS = 10_000;

type Look = <Value>(key: string, read: () => Promise<Value>) => Promise<Value>;

/** The one place where tokens become callers; used by the gateway, and by fs for requests that reach it directly. */
export function createCallers(options: { tokens: LoginTokens; reads: AccountReads; clock: () => number }): Callers {
  const { tokens, reads, clock } = options;
  const remembered = new LRUCache<string, { value: unknown; readAt: number }>({ max: REMEMBERED_SESSIONS });
  /** Reads under way that began after the last invalidation: whoever needs the same joins in. */
  const reading = new Map<string, Promise<unknown>>();

  const store = createStoreAsker();

  /** A value read after the last invalidation. */
  const readNow = <Value>(key: string, read: () => Promise<Value>): Promise<Value> => {
    const readAt = clock();
    const underWay = reading.get(key);
    if (underWay) return underWay as Promise<Value>;
    const load: Promise<Value> = store
      .ask(read())
      .then((value) => {
        if (reading.get(key) === load) remembered.set(key, { value, readAt });
        return value;
      })
      .finally(() => {
        if (reading.get(key) === load) reading.delete(key);
      });
    reading.set(key, load);
    return load;
  };
  const find = (key: string, maxAgeMs: number): { value: unknown } | undefined => {
    const known = remembered.get(key);
    return known && isYounger(known.readAt, clock(), maxAgeMs) ? known : undefined;
  };
  /** A value read at most MAX_CACHE_AGE_MS ago. */
  const fresh: Look = async <Value>(key: string, read: () => Promise<Value>) => {
    const known = find(key, MAX_CACHE_AGE_MS);
    return known ? (known.value as Value) : readNow(key, read);
  };
  /** The same, or while the store does not answer one read at most MAX_KEPT_MS ago. */
  const kept: Look = async <Value>(key: string, read: () => Promise<Value>) => {
    const known = find(key, MAX_CACHE_AGE_MS);
    if (known) return known.value as Value;
    const reading = readNow(key, read).then((value) => ({ value }));
    return (await store.askOrKeep<{ value: unknown }>(reading, () => find(key, MAX_KEPT_MS))).value as Value;
  };

  /** The newest revision of an event. */
  let heard: number | undefined;
  const invalidate = () => {
    reading.clear();
    remembered.clear();
  };

  const guest = async (look: Look): Promise<Caller> => {
    const user = await look('guest', () => reads.findUserByRole(ROLE.guest));
    if (!user || user.disabled) throw new AppError('UNAUTHENTICATED', 'Guest user is disabled, login please');
    return callerOf(user, '');
  };

  return {
    async establish(authorization, { isReading } = { isReading: false }) {
      const look = isReading ? kept : fresh;
      const token = (authorization ?? '').replace(/^Bearer /i, '').trim();
      if (token === '') return guest(look);
      const permanent = await look('permanent', () => reads.readPermanentToken());
      if (permanent !== undefined && permanent !== '' && equalTexts(token, permanent)) {
        const admin = await look('admin', () => reads.findUserByRole(ROLE.admin));
        if (!admin) throw new AppError('UNAUTHENTICATED', 'token is invalidated');
        return callerOf(admin, '');
      }
      const claims = tokens.verify(token);
      const session = await look(keyOfSession(claims.sid), () => reads.findSessionUser(claims.sid));
      // The session may be gone because the user was deleted or disabled, or has a new password. Clients expect to be told which.
      const user = session ? session.user : await look(`name ${claims.username}`, () => reads.findUserByName(claims.username));
      if (!user || user.username !== claims.username) throw new AppError('UNAUTHENTICATED', 'failed find user: record not found');
      if (user.pwd_ts !== claims.pwd_ts) throw new AppError('UNAUTHENTICATED', 'Password has been changed, login please');
      if (user.disabled) throw new AppError('UNAUTHENTICATED', 'Current user is disabled, replace please');
      if (!session) throw new AppError('UNAUTHENTICATED', 'token is invalidated');
      return callerOf(user, claims.sid);
    },
    invalidate,
    hear({ revision, sessionId }) {
      const isNext = heard !== undefined && revision === heard + 1;
      heard = Math.max(heard ?? revision, revision);
      if (!isNext || sessionId === undefined) {
        invalidate();
        return true;
      }
      reading.delete(keyOfSession(sessionId));
      remembered.delete(keyOfSession(sessionId));
      return false;
    },
  };
}

const keyOfSession = (id: string) => `session ${id}`;

function callerOf(user: AccountUser, sessionId: string): Caller {
  const { id, username, role, permission } = user;
  return { user, identity: { kind: 'user', id, username, role, permission, basePath: user.base_path, sessionId } };
}

/** Compares in a time that depends on the lengths of the texts, not on where they differ. */
export function equalTexts(left: string, right: string): boolean {
  if (left.length !== right.length) return false;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}
