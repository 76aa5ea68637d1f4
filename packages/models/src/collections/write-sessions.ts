import { defineCollection } from '../collection.ts';
import { addedLater, flag, number, optional, optionalData, type RecordOf, required, text } from '../fields.ts';

/** What a user's own upload has beyond other sessions (docs/decisions/0008-uploads-in-parts.md). */
export interface UploadRecord {
  kind: 'parts' | 'stream';
  /** Of `parts`: bytes of each part but the last. */
  chunk_bytes: number;
  overwrite: boolean;
  /** In milliseconds since 1970; absent: when the file gets its name. */
  modified_ms?: number;
  /** Hexadecimal digests that the whole file must have. */
  hashes?: Record<string, string>;
  /** The sum of each accepted part (services/fs/src/domain/uploads/part-sum.ts), plus 1, by its index. */
  parts?: Record<string, number>;
  /** Of `stream`: so many bytes are durable. */
  offset_bytes: number;
  /** Who writes, by the index of the part, `stream` or `complete`. */
  claims?: Record<string, { writer: string; until: Date }>;
  /** Another process may still write into the draft: the file is made of a copy. */
  is_taken_over: boolean;
  /** Of tus: one of several that are put together, and is no file itself. */
  is_partial: boolean;
  /** Of tus: what the client said of the file, answered as it came. */
  metadata: string;
  user_name: string;
  /** Of a guest: its address, of IPv6 its network. */
  address?: string;
  /** The folder of one or more replicas that keeps its bytes, where the storage takes whole files only; absent: the storage keeps them. */
  spool?: string;
  created_at: Date;
}

/** A file as its storage told of it. */
export interface ReplacedFileRecord {
  /** In bytes; absent: not told. */
  size?: number;
  modified_at: Date;
  /** This, and the version, where its storage tells it. */
  made_at?: Date;
  version?: string;
}

/** A file on its way into the tree. Written by fs. */
export const writeSessions = defineCollection(
  'write_sessions',
  {
    /** 32 hexadecimal digits; also the id of the draft that its storage keeps. */
    _id: required.text,
    user_id: required.number,
    /** Where the file is to be, in the whole tree. */
    path: required.text,
    storage_id: required.number,
    /** Whether the storage takes ranges. */
    has_draft: required.flag,
    /** Set before the file gets this name, which may be another one than `path` says; empty before. */
    publishing_path: text,
    /** What had that name when it was set. */
    replaced: optionalData<ReplacedFileRecord>(),
    /** True once the file has that name. */
    is_published: flag,
    /** In bytes: as announced, 0 when it was not; of the file once it is published. */
    size: number,
    /** Of the replica that opened it; empty: any. */
    data_url: text,
    /** fs takes it away then, with what it has written. */
    expires_at: required.date,
    /** It came with a backup: its draft may be another Wharf's, and goes by its own age. */
    of_backup: optional.flag,
    /** Of a user's own upload only. */
    upload: optionalData<UploadRecord>(),
    /** Of a user's own upload: `beginning` until its client may be told of it, `receiving` until the file has its name. Of any whose file has it: `published`. */
    upload_state: addedLater(text),
    /** What an unfinished upload is found again by: there is one of each. */
    upload_key: optional.text,
  },
  [{ expires_at: 1 }],
  [{ upload_state: 1, user_id: 1 }],
  [{ upload_key: 1 }, { unique: true, sparse: true }],
);

export type WriteSessionRecord = RecordOf<(typeof writeSessions)['fields']>;
