import { defineCollection } from '../collection.ts';
import { only, type RecordOf, required } from '../fields.ts';

/** The permanent admin token. Written by auth; there is one. */
export const permanentTokens = defineCollection('permanent_tokens', {
  _id: only('permanent'),
  sealed: required.text,
});

export type PermanentTokenRecord = RecordOf<(typeof permanentTokens)['fields']>;
