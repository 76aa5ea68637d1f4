import { z } from 'zod';
import type { Hashes, HashName } from '../../driver-contract/storage-driver.ts';
import { badAnswer } from '../../driver-contract/storage-error.ts';

/** What rclone says that a storage can do (fs/features.go). */
export interface Features {
  /** Files get another name in one step. */
  readonly moves: boolean;
  /** Folders too. */
  readonly movesFolders: boolean;
  /** Files are copied by the server. */
  readonly copies: boolean;
  /** A folder goes with all it holds in one step. */
  readonly purges: boolean;
  /** It takes a content of unknown size. */
  readonly streams: boolean;
  readonly tellsSpace: boolean;
  readonly keepsEmptyFolders: boolean;
  /** The first name of a path is that of a bucket. */
  readonly hasBuckets: boolean;
  /** Digests that cost no reading of the file. */
  readonly hashes: readonly HashName[];
}

const flag = z.boolean().default(false);
const schema = z.object({
  Features: z.object({
    Move: flag,
    DirMove: flag,
    Copy: flag,
    Purge: flag,
    PutStream: flag,
    About: flag,
    CanHaveEmptyDirectories: flag,
    BucketBased: flag,
    SlowHash: flag,
  }),
  Hashes: z.array(z.string()).nullish(),
});

const HASH_NAMES: readonly HashName[] = ['md5', 'sha1', 'sha256'];

/** @param answer of `operations/fsinfo` */
export function readFeatures(answer: unknown): Features {
  const read = schema.safeParse(answer);
  if (!read.success) throw badAnswer('no features', read.error);
  const { Features: can, Hashes: hashes } = read.data;
  return {
    moves: can.Move,
    movesFolders: can.DirMove,
    copies: can.Copy,
    purges: can.Purge,
    streams: can.PutStream,
    tellsSpace: can.About,
    keepsEmptyFolders: can.CanHaveEmptyDirectories,
    // The shares of an SMB server are buckets to rclone too.
    hasBuckets: can.BucketBased && !can.CanHaveEmptyDirectories,
    hashes: can.SlowHash ? [] : HASH_NAMES.filter((name) => hashes?.includes(name)),
  };
}

/** Those of ours among rclone's, which are empty where nobody knows them. */
export function toHashes(known: Readonly<Record<string, string>>): Hashes {
  return Object.fromEntries(HASH_NAMES.flatMap((name) => (known[name] ? [[name, known[name].toLowerCase()]] : [])));
}
