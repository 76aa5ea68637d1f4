import { defineCollection } from '../collection.ts';
import { addedLater, byKey, number, type RecordOf, required } from '../fields.ts';

/** What is known of the bytes below one base path, for the quotas of those who have it. Written by fs. */
export const quotaLedgers = defineCollection('quota_ledgers', {
  /** The base path. */
  _id: required.text,
  /** Bytes that a count found, less `written_bytes` as it was when the count began. */
  base_bytes: number,
  /** Bytes written since the ledger was made; it only rises. */
  written_bytes: number,
  /** `base_bytes + written_bytes` and all claims: the one number that a new claim is compared with. */
  held_bytes: number,
  /** When the last count began; 1970 when the next claim must wait for a count. */
  counted_at: required.date,
  /** What writes that have begun may add, by the id of the claim. Of 0 bytes and named `moving-…`: entries are moved meanwhile. */
  claims: byKey<{ bytes: number; expires_at: Date }>(),
  /** How often entries began to be moved, here or into or out of here; it only rises. */
  relocations: addedLater(number),
});

export type QuotaLedgerRecord = RecordOf<(typeof quotaLedgers)['fields']>;
