import { defineCollection } from '../collection.ts';
import { number, type RecordOf, required } from '../fields.ts';

/** Failed logins of one address or to one account, or wrong codes of a user. Written by auth. */
export const loginAttempts = defineCollection(
  'login_attempts',
  {
    /** `address <address>`, `account <name's key>` or `code <user id>`. */
    _id: required.text,
    failures: number,
    /** The count starts anew then. */
    expires_at: required.date,
  },
  [{ expires_at: 1 }, { expireAfterSeconds: 0 }],
);

export type LoginAttemptRecord = RecordOf<(typeof loginAttempts)['fields']>;
