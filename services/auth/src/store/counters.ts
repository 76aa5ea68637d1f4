import { type Models, REVISION, raiseCounter, readAuthRevision, reserveCounter } from '@wharf/models';

/** Numbers that only rise, shared by all replicas. */
interface Counters {
  /** An id that no user has had. */
  nextUserId(): Promise<number>;
  /** An id that no SSH key has had. */
  nextSshKeyId(): Promise<number>;
  /** An id that no app password has had. */
  nextAppPasswordId(): Promise<number>;
  /** Makes sure that ids up to this one are not given out. */
  reserveUserIds(upTo: number): Promise<void>;
  /** Raises the revision of the accounts, after a change was written. */
  nextRevision(): Promise<number>;
  revision(): Promise<number>;
}

const USERS = 'users';
const SSH_KEYS = 'ssh_keys';
const APP_PASSWORDS = 'app_passwords';

export function createCounters(models: Models): Counters {
  const { authCounters } = models;
  const next = (id: string) => raiseCounter(authCounters, id);
  return {
    nextUserId: () => next(USERS),
    nextSshKeyId: () => next(SSH_KEYS),
    nextAppPasswordId: () => next(APP_PASSWORDS),
    reserveUserIds: (upTo) => reserveCounter(authCounters, USERS, upTo),
    nextRevision: () => next(REVISION),
    revision: () => readAuthRevision(models),
  };
}
