import { defineCollection } from '../collection.ts';
import { flag, number, type RecordOf, required, texts } from '../fields.ts';

/** An entry of the search index. Written by fs. */
export const indexEntries = defineCollection(
  'search_entries',
  {
    /** `<folder>/<name>`. */
    _id: required.text,
    /** The id of its folder. */
    folder: required.text,
    name: required.text,
    is_dir: flag,
    size: number,
    /** Every sequence of three characters of the name, with ASCII letters in lower case. */
    grams: texts,
  },
  [{ grams: 1 }],
);

export type IndexEntryRecord = RecordOf<(typeof indexEntries)['fields']>;
