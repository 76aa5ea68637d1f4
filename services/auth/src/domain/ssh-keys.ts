import { AppError } from '@wharf/errors';
import { type Slice, sliceOf } from '@wharf/pace';
import { parseSshPublicKey, type SshPublicKey } from './ssh-public-key.ts';
import { staysWithin } from './stays-within.ts';
import type { User } from './user.ts';

/** A public key of a user. */
export interface SshKey extends SshPublicKey {
  readonly id: number;
  readonly userId: number;
  readonly title: string;
  readonly addedAt: Date;
  /** The time of adding until the first login. */
  readonly lastUsedAt: Date;
}

interface SshKeyParts {
  findUser(id: number): Promise<User | undefined>;
  keys: {
    /** By id. */
    list(userId: number, slice: Slice): Promise<SshKey[]>;
    count(userId: number): Promise<number>;
    /** With lower ids. */
    countBefore(id: number, userId: number): Promise<number>;
    hasTitle(userId: number, title: string): Promise<boolean>;
    /** False when the user has a key of this title. */
    insert(key: SshKey): Promise<boolean>;
    /** False when there is none. @param userId undefined: whoever's it is */
    remove(id: number, userId: number | undefined): Promise<boolean>;
  };
  nextId(): Promise<number>;
  /** Called after every write; answers the new revision. */
  changed(): Promise<number>;
  clock: () => number;
}

/** The SSH keys of accounts. Writes answer the revision after them. */
export interface SshKeys {
  /** One page by id, as of {@link sliceOf}. */
  list(userId: number, page: number, perPage: number): Promise<{ keys: SshKey[]; total: number }>;
  /** The same for a user that may not exist. @throws AppError RECORD_NOT_FOUND */
  listOf(userId: number, page: number, perPage: number): Promise<{ keys: SshKey[]; total: number }>;
  /** @throws AppError INVALID_ARGUMENT | RECORD_EXISTS: the user has a key of this title | QUOTA_EXCEEDED */
  add(userId: number, input: { title: string; key: string }): Promise<number>;
  /** @param userId undefined: whoever's it is. @throws AppError RECORD_NOT_FOUND */
  remove(id: number, userId?: number): Promise<number>;
}

const MAX_KEYS = 100;
const MAX_TITLE_LENGTH = 255;

export function createSshKeys(parts: SshKeyParts): SshKeys {
  const { keys } = parts;
  const list: SshKeys['list'] = async (userId, page, perPage) => {
    const total = await keys.count(userId);
    const slice = sliceOf(page, perPage);
    return { keys: slice.skip >= total ? [] : await keys.list(userId, slice), total };
  };
  return {
    list,
    async listOf(userId, page, perPage) {
      if (!(await parts.findUser(userId))) throw new AppError('RECORD_NOT_FOUND', 'failed get user: record not found');
      return list(userId, page, perPage);
    },
    async add(userId, input) {
      const title = input.title.trim();
      if (title === '' || title.length > MAX_TITLE_LENGTH || input.key.trim() === '')
        throw new AppError('INVALID_ARGUMENT', 'request invalid');
      if (await keys.hasTitle(userId, title)) throw titleExists();
      const key = parseSshPublicKey(input.key);
      if ((await keys.count(userId)) >= MAX_KEYS) throw tooMany();
      const now = new Date(parts.clock());
      const id = await parts.nextId();
      if (!(await keys.insert({ ...key, id, userId, title, addedAt: now, lastUsedAt: now }))) throw titleExists();
      if (!(await staysWithin(MAX_KEYS, { id, userId }, keys))) {
        await keys.remove(id, userId);
        throw tooMany();
      }
      return parts.changed();
    },
    async remove(id, userId) {
      if (!(await keys.remove(id, userId))) throw new AppError('RECORD_NOT_FOUND', 'failed to get public key');
      return parts.changed();
    },
  };
}

const tooMany = () => new AppError('QUOTA_EXCEEDED', `a user has at most ${MAX_KEYS} keys`);
const titleExists = () => new AppError('RECORD_EXISTS', 'key with the same title already exists');
