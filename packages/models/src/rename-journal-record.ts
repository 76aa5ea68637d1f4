import type { Connection, Model } from 'mongoose';
import { defineModel, required } from './define-model.ts';

/** Names of one folder that are being changed, all or none. Written by fs. */
export interface RenameJournalRecord {
  _id: string;
  /** Whoever changes them, or takes back what a crash cut off: another one each time. */
  holder: string;
  storage_id: number;
  /** In the whole tree. */
  folder: string;
  /** Old and new name of each step, in the order in which they are done, with `/` in between. */
  names: string;
  /** Of the steps that close a circle, the last that may have been done, by its index; -1: none. */
  closing: number;
  /** Nobody works on it after that, unless it was put off. */
  expires_at: Date;
  created_at: Date;
}

/** The collection of names that are being changed; a second call for a connection answers the same model. */
export function renameJournalModelOf(connection: Connection): Model<RenameJournalRecord> {
  return defineModel<RenameJournalRecord>(
    connection,
    'rename_journal',
    {
      _id: required(String),
      holder: required(String),
      storage_id: required(Number),
      folder: required(String),
      names: required(String),
      closing: required(Number),
      expires_at: required(Date),
      created_at: required(Date),
    },
    (schema) => {
      schema.index({ expires_at: 1 });
    },
  );
}
