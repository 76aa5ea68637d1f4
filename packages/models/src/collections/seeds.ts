import { defineCollection } from '../collection.ts';
import { optional, orNull, type RecordOf, required, text, texts } from '../fields.ts';

/** A torrent that seeds after its files were taken over, or a download that ended while its tool was away. Written by the downloader. */
export const seeds = defineCollection(
  'download_seeds',
  {
    /** The id of its download task. */
    _id: required.text,
    tool: required.text,
    /** By which the tool knows it. Empty of one that was given up before that was heard. */
    tool_id: text,
    /** What WHARF_TOOLS_DIR was when it was given to its tool, which knows it by that. Left out by earlier versions. */
    tools_dir: optional.text,
    /** Null: it stays. */
    remove_at: orNull.date,
    /** Names in the task's folder that go when the seeding ends. */
    left_files: texts,
    /** Its task has ended, and all of its folder goes. */
    is_given_up: optional.flag,
    /** That folder is being removed: until it is over the task is not tried again. */
    is_going: optional.flag,
  },
  [{ tool: 1, remove_at: 1 }],
);

export type SeedRecord = RecordOf<(typeof seeds)['fields']>;
