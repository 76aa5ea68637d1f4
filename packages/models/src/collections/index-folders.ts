import { defineCollection } from '../collection.ts';
import { orNull, type RecordOf, required } from '../fields.ts';

/** A folder of the search index. Written by fs. */
export const indexFolders = defineCollection(
  'search_folders',
  {
    /** Random. */
    _id: required.text,
    path: required.text,
    /** Levels below it that are indexed; -1: all. */
    depth: required.number,
    /** The generation under which it waits to be listed; null: it does not. */
    queued: orNull.number,
  },
  [{ path: 1 }, { unique: true }],
  [{ queued: 1 }, { partialFilterExpression: { queued: { $gt: 0 } } }],
);

export type IndexFolderRecord = RecordOf<(typeof indexFolders)['fields']>;
