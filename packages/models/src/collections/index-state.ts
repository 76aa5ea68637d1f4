import { defineCollection } from '../collection.ts';
import { number, only, type RecordOf, required, text } from '../fields.ts';

/** What is known of the search index as a whole, and who works on it. Written by fs; there is one. */
export const indexState = defineCollection('search_state', {
  _id: only('index'),
  revision: number,
  /** JSON. */
  body: text,
  owner: text,
  lease_until: required.date,
});

export type IndexStateRecord = RecordOf<(typeof indexState)['fields']>;
