import { defineCollection } from '../collection.ts';
import { type RecordOf, required } from '../fields.ts';

/** A public key of a user. Written by auth. */
export const sshKeys = defineCollection(
  'ssh_keys',
  {
    _id: required.number,
    user_id: required.number,
    /** Unique among the user's keys. */
    title: required.text,
    /** As in the key itself: `ssh-ed25519` and the like. */
    type: required.text,
    /** The key's wire form, as base64. */
    blob: required.text,
    fingerprint: required.text,
    added_at: required.date,
    last_used_at: required.date,
  },
  [{ user_id: 1, title: 1 }, { unique: true }],
);

export type SshKeyRecord = RecordOf<(typeof sshKeys)['fields']>;
