import { defineCollection } from '../collection.ts';
import { addedLater, flag, harmless, number, orNull, type RecordOf, required, sealedText, text, texts } from '../fields.ts';

/** A user. Written by auth. */
export const users = defineCollection(
  'users',
  {
    _id: required.number,
    username: harmless(required.text),
    /** The name normalised and case-folded; unique, so that no two names look the same. */
    username_key: harmless(required.text),
    /** Users gave themselves this name, and no administrator has saved it since. */
    chose_name: addedLater(flag),
    /** argon2id of the static hash. */
    password_hash: harmless(text),
    /** Unix seconds of the last password change. */
    pwd_ts: harmless(number),
    base_path: required.text,
    /** 0 general, 1 guest, 2 admin. */
    role: required.number,
    permission: harmless(number),
    disabled: flag,
    sso_id: harmless(text),
    allow_ldap: harmless(flag),
    /** What the files below the base path may have in bytes; 0 or absent: as much as there is room for. */
    quota_bytes: addedLater(number),
    /** Sealed; empty while two-step verification is off. Where it cannot be read, no code is right until the admin switches it off. */
    otp_secret: sealedText,
    /** The step of the last code that was used with the secret, in units of 30 s since 1970; codes up to it are used up. */
    otp_last_step: harmless(addedLater(number)),
    /** Keyed digests of the recovery codes that are left. */
    otp_recovery: harmless(addedLater(texts)),
    /** Sealed; the secret that waits to be verified, or empty. */
    otp_pending: harmless(addedLater(text)),
    otp_pending_until: harmless(addedLater(orNull.date)),
  },
  [{ username_key: 1 }, { unique: true }],
  [{ username: 1 }],
  [{ role: 1 }],
  // Few have a quota, and all who have are read together.
  [{ quota_bytes: 1 }, { partialFilterExpression: { quota_bytes: { $gt: 0 } } }],
);

export type UserRecord = RecordOf<(typeof users)['fields']>;
