import { type RuleRecord, rules } from './collections/rules.ts';
import { type StorageRecord, storages } from './collections/storages.ts';
import { type UserRecord, users } from './collections/users.ts';
import { readRecord } from './read-record.ts';

/** Told of a record that is closed because of what cannot be read of it. */
export type OnClosed<Type> = (error: Error, record: Type) => void;

const oddness = (fields: readonly string[]) => `it is stored oddly: ${fields.join(', ')}`;

/** Whoever it is asked of, by id, it is another one. */
const NO_USER = -2;

/** What a rule is where nobody knows what it says: nobody is on its lists, and it hides all that is below, also from whom a rule further down lets in. */
export function closedRule(record: RuleRecord): RuleRecord {
  const [read_users, write_users] = [[NO_USER], [NO_USER]];
  const texts = { password: '', hide: '.', h_sub: true, readme: '', header: '' };
  return { ...record, ...texts, write: false, read_users, read_users_sub: true, write_users, write_users_sub: true };
}

/**
 * Rules as they count: a closed one, where anything that one decides by cannot be read; of the whole tree, where its path cannot be. The closed ones are the
 * last, so that they have their places also where there are others.
 */
export function rulesFromStore(stored: readonly RuleRecord[], onClosed: OnClosed<RuleRecord> = () => {}): RuleRecord[] {
  const [whole, closed]: [RuleRecord[], RuleRecord[]] = [[], []];
  for (const each of stored) {
    const { record, odd } = readRecord(rules.fields, each);
    if (odd.length === 0) {
      whole.push(record);
      continue;
    }
    onClosed(new TypeError(oddness(odd)), { ...record, _id: each._id });
    closed.push(closedRule(record));
  }
  return [...whole, ...closed];
}

/** A storage as it counts: switched off, where anything that it decides by cannot be read. */
export function storageFromStore(stored: StorageRecord): StorageRecord {
  const { record, odd } = readRecord(storages.fields, stored);
  return odd.length === 0 ? record : { ...record, disabled: true, status: oddness(odd) };
}

/** A user as they count: disabled, where anything that is decided by it cannot be read. */
export function userFromStore(stored: UserRecord): UserRecord {
  const { record, odd } = readRecord(users.fields, stored);
  return odd.length === 0 ? record : { ...record, disabled: true };
}
