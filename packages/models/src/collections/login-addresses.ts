import { defineCollection } from '../collection.ts';
import { type RecordOf, required } from '../fields.ts';

const HALF_A_YEAR_S = 180 * 86_400;

/** An address that logged in to an account. Written by auth. */
export const loginAddresses = defineCollection(
  'login_addresses',
  {
    /** `<user id> <address>`. */
    _id: required.text,
    user_id: required.number,
    /** The store forgets it half a year later. */
    last_login_at: required.date,
  },
  [{ user_id: 1 }],
  [{ last_login_at: 1 }, { expireAfterSeconds: HALF_A_YEAR_S }],
);

export type LoginAddressRecord = RecordOf<(typeof loginAddresses)['fields']>;
