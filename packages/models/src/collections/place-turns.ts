import { defineCollection } from '../collection.ts';
import { required } from '../fields.ts';

/** Whose turn it is where one replica goes after the other. Written by fs. */
export const placeTurns = defineCollection(
  'place_turns',
  {
    /** The SHA-256 of the place. */
    _id: required.text,
    owner: required.text,
    /** Anybody may take it then. */
    until: required.date,
  },
  [{ until: 1 }, { expireAfterSeconds: 0 }],
);
