import { AppError } from '@wharf/errors';
import type { VirtualPath } from '@wharf/paths';
import type { Entry, Hashes } from '../../driver-contract/storage-driver.ts';
import type { HeldRoom } from '../quota/quota.ts';

/** A file on its way into the tree, as the store keeps it. */
export interface WriteSession {
  readonly id: string;
  readonly userId: number;
  /** Where the file is wanted. */
  readonly path: VirtualPath;
  readonly storageId: number;
  /** Whether its content comes in ranges. */
  readonly hasDraft: boolean;
  /** The name that it is being given; undefined before. */
  readonly publishingPath: VirtualPath | undefined;
  /** What had that name when it was noted. */
  readonly replaced?: ReplacedFile | undefined;
  readonly isPublished: boolean;
  /** As announced, 0 when it was not; of the file once it is published. */
  readonly sizeBytes: number;
  readonly dataUrl: string;
  readonly expiresAt: Date;
  /** It came with a backup: the Wharf of which that was made may go on with its draft. */
  readonly isOfBackup?: boolean | undefined;
  /** Of a user's own upload; absent in files that other services bring in. */
  readonly upload?: UploadState | undefined;
}

/** What tells a file from the one that comes in its place. */
export type ReplacedFile = Pick<Entry, 'sizeBytes' | 'modifiedAt' | 'createdAt' | 'version'>;

/** What a user's own upload has beyond other write sessions. */
export interface UploadState {
  /** `parts`: a grid of parts, in any order. `stream`: from the start on, one writer at a time. */
  readonly kind: 'parts' | 'stream';
  /** What it is found again by, of which there is one unfinished upload at a time. */
  readonly key?: string | undefined;
  /** Bytes of each part but the last; of a stream 0. */
  readonly chunkBytes: number;
  readonly overwrite: boolean;
  readonly modifiedAt: Date | undefined;
  /** What the whole file must hash to. */
  readonly hashes: Hashes;
  /** The sum of each accepted part, by index. */
  readonly parts: ReadonlyMap<number, number>;
  /** Of a stream: so many bytes are durable. */
  readonly offsetBytes: number;
  /** Another process may still write into the draft. */
  readonly isTakenOver: boolean;
  /** One of several that are put together, and no file itself. */
  readonly isPartial: boolean;
  /** Opaque text of the client. */
  readonly metadata: string;
  readonly userName: string;
  /** Of a guest. */
  readonly address?: string | undefined;
  /** The spool that keeps its bytes where the storage takes whole files only. */
  readonly spool?: string | undefined;
  readonly createdAt: Date;
}

/** A session goes after so long without use, in milliseconds. */
export const IDLE_MS = 86_400_000;
/** How much longer than a session its claim holds where nobody renews it, in milliseconds: sessions are swept now and then. */
const UNSWEPT_MS = 3_600_000;

/** The room of a session's file. A draft takes room as long as the session lives, whoever writes to it and whether anybody does. */
export function roomOf({ id, hasDraft, upload }: WriteSession, bytes: number, uploadIdleMs = IDLE_MS): HeldRoom {
  const idleMs = upload ? uploadIdleMs : IDLE_MS;
  return { name: id, bytes, leaseMs: upload || hasDraft ? idleMs + UNSWEPT_MS : undefined };
}

/** A session in use. */
export interface OpenedSession extends WriteSession {
  /** As of its draft. */
  readonly partBytes: number;
}

/** Where sessions are kept. */
export interface WriteSessionStore {
  init(): Promise<void>;
  /** An upload waits for UploadStore.begun(). @throws AppError RECORD_EXISTS: the id, or the key of the upload, is another session's */
  insert(session: WriteSession): Promise<void>;
  find(id: string): Promise<WriteSession | undefined>;
  touch(id: string, expiresAt: Date): Promise<void>;
  /** @param replaced what has that name now */
  beginPublishing(id: string, path: VirtualPath, replaced?: ReplacedFile): Promise<void>;
  /** @param expiresAt it is known until then, or until there are many that are known for longer */
  markPublished(session: Pick<WriteSession, 'id' | 'userId'>, sizeBytes: number, expiresAt: Date): Promise<void>;
  remove(id: string): Promise<void>;
  findExpired(now: Date): Promise<WriteSession[]>;
  /** The ids of some that are to go later than that. */
  findAhead(latest: Date): Promise<string[]>;
}

/** The answer for a session that is not there, or no more. */
export function gone(): AppError {
  return new AppError('RECORD_NOT_FOUND', 'there is no such write session');
}
