import { defineCollection } from '../collection.ts';
import { flag, required, text } from '../fields.ts';

/** Calls that their client may send a second time. Written by fs. */
export const answeredCalls = defineCollection(
  'answered_calls',
  {
    /** The SHA-256 of the user, the key and what is asked for. */
    _id: required.text,
    /** One attempt to write this record. */
    owner: required.text,
    is_answered: flag,
    /** JSON; empty: it was too long to be kept. */
    answer: text,
    until: required.date,
  },
  [{ until: 1 }, { expireAfterSeconds: 0 }],
);
