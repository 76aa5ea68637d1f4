import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import type { EntryName } from '@wharf/paths';
import type { Digests } from '../domain/digests.ts';
import { chooseFileName } from '../domain/file-name.ts';
import { PartMap, type SavedParts } from '../domain/part-map.ts';
import { provesSame } from '../domain/validator.ts';
import type { RateLimit } from './rate-limit.ts';
import { type FetchNetwork, openSource, type Source } from './source.ts';
import { type FileSink, isPassing, tooBig, transfer } from './transfer.ts';

/** A file at its destination that has no name yet. */
export interface Draft {
  /** By which another process finds it again. */
  readonly id: string;
  /** Set when an earlier run gave it its name already: there is nothing left to do. */
  readonly published?: { readonly sizeBytes: number };
  readonly sink: FileSink;
  /**
   * Verifies what is there and gives it its name.
   * @throws AppError CONTENT_CORRUPT, and what the storage says
   */
  commit(file: { readonly sizeBytes: number; readonly digests: Digests }): Promise<void>;
  /** Leaves nothing. Safe twice. */
  abort(): Promise<void>;
  /** Lets go of it; it stays for {@link Destination.resume}. */
  release(): Promise<void>;
}

export interface NewFile {
  readonly name: EntryName;
  readonly sizeBytes: number | undefined;
  /** Whether the commit will bring digests. */
  readonly hasDigests: boolean;
}

/** Where fetched files go. */
export interface Destination {
  /**
   * @param file.sizeBytes undefined when the source does not say. @param note stores the draft's id before the draft is made. So the draft
   * is found although the process dies in between.
   */
  begin(file: NewFile, note: (id: string) => Promise<void>): Promise<Draft>;
  /** A draft of an earlier run; undefined when it is gone. */
  resume(id: string): Promise<Draft | undefined>;
  /** Takes back a draft of an earlier run, without asking the storage whether it has become a file. */
  drop(id: string): Promise<void>;
}

/** How far a fetch has come, as it is kept between runs. */
export interface SavedFetch {
  readonly name: EntryName;
  readonly draftId: string;
  /** Undefined while nothing of it could be used again. */
  readonly parts?: SavedParts | undefined;
}

export interface FetchOptions {
  readonly network: FetchNetwork;
  readonly url: string;
  readonly destination: Destination;
  readonly saved: SavedFetch | undefined;
  /** Digests that the caller expects; those that the server sends come on top. */
  readonly digests: Digests;
  /** 1 to 16. */
  readonly connections: number;
  readonly limits: readonly RateLimit[];
  readonly stallMs: number;
  readonly saveEveryMs: number;
  /** The biggest file, in bytes; Infinity: no limit. */
  readonly maxBytes: number;
  readonly clock: () => number;
  readonly signal: AbortSignal;
  /** The file that is being fetched is known, or known better. */
  readonly onFile: (file: { readonly name: EntryName; readonly sizeBytes: number | undefined }) => void;
  /** All bytes are there and are looked at. */
  readonly onVerify: () => void;
  /** Asked right before the file gets its name. @throws what is to be thrown instead */
  readonly beforeCommit?: () => Promise<void>;
  /** Bytes that are there so far. */
  readonly onProgress: (bytes: number) => void;
  readonly onSave: (saved: SavedFetch | undefined) => Promise<void>;
}

const MAX_RESTARTS = 5;
/**
 * So often a source may be another one in the middle, before it is asked for in one piece: of several machines behind one name each may say its own date of the
 * same file.
 */
const MAX_CHANGES = 2;
const FIRST_WAIT_MS = 500;

/**
 * Brings one file from an address to its destination, going on where an earlier run stopped. After a failure the draft stays for the next run;
 * whoever gives up aborts it by {@link dropFetch}.
 *
 * @throws AppError PERMISSION_DENIED (egress) | FAILED_PRECONDITION (the source refuses, or does not stop changing) | STORAGE_UNAVAILABLE |
 * DEADLINE_EXCEEDED | QUOTA_EXCEEDED | CONTENT_CORRUPT (another digest or size than announced) | the signal's reason
 */
export async function fetchFile(options: FetchOptions): Promise<{ name: EntryName; sizeBytes: number }> {
  const origin = options.network.policy.parseUrl(options.url);
  let saved = options.saved;
  const onSave = async (state: SavedFetch | undefined) => {
    saved = state;
    await options.onSave(state);
  };
  let wantsRanges = true;
  let changes = 0;
  for (let restarts = 0; ; ) {
    try {
      const earlier = saved && (await options.destination.resume(saved.draftId));
      if (saved && earlier?.published) return { name: saved.name, sizeBytes: earlier.published.sizeBytes };
      await earlier?.release();
      const source = await openSource(options.network, origin, wantsRanges, options.signal);
      try {
        return await fetchSource({ ...options, onSave }, origin, source, saved);
      } finally {
        if (!source.response.complete) source.response.destroy();
      }
    } catch (error) {
      if (options.signal.aborted) throw AppError.is(options.signal.reason) ? options.signal.reason : new AppError('CANCELLED', 'cancelled');
      const isChanged = AppError.is(error, 'STALE_VERSION');
      const isWrongRange = AppError.is(error, 'RANGE_NOT_SATISFIABLE');
      if (!isChanged && !isWrongRange && !isPassing(error)) throw error;
      restarts += 1;
      if (restarts > MAX_RESTARTS) throw isChanged ? new AppError('FAILED_PRECONDITION', 'the source does not stop changing') : error;
      changes += isChanged ? 1 : 0;
      if (isWrongRange || changes > MAX_CHANGES) wantsRanges = false;
      if (!isWrongRange) await delay(FIRST_WAIT_MS * 2 ** (restarts - 1), undefined, { signal: options.signal });
    }
  }
}

/** Takes back what a fetch has left at its destination. */
export async function dropFetch(destination: Destination, saved: SavedFetch | undefined): Promise<void> {
  if (saved) await destination.drop(saved.draftId);
}

async function fetchSource(
  options: FetchOptions,
  origin: URL,
  source: Source,
  saved: SavedFetch | undefined,
): Promise<{ name: EntryName; sizeBytes: number }> {
  if (source.sizeBytes !== undefined && source.sizeBytes > options.maxBytes) throw tooBig(options.maxBytes);
  const { draft, name, parts } = await takeDraft(options, source, saved);
  options.onFile({ name, sizeBytes: source.sizeBytes });
  let doneBytes = parts ? new PartMap(parts).doneBytes() : 0;
  options.onProgress(doneBytes);
  let isCommitting = false;
  let sizeBytes = 0;
  const commit = async (whole: Draft) => {
    await options.beforeCommit?.();
    isCommitting = true;
    await whole.commit({ sizeBytes, digests: digestsOf(options, source) });
    return { name, sizeBytes };
  };
  try {
    sizeBytes = await transfer({
      ...options,
      origin,
      source,
      sink: draft.sink,
      saved: parts,
      onBytes: (bytes) => {
        doneBytes += bytes;
        options.onProgress(doneBytes);
      },
      onSave: (state) => options.onSave({ name, draftId: draft.id, parts: state }),
    });
    options.onVerify();
    return await commit(draft);
  } catch (error) {
    // A draft that cannot be continued is removed at once. Any other waits for the next run.
    if (!options.signal.aborted && !(source.hasRanges && isPassing(error))) {
      if (isCommitting) {
        await draft.release();
        // It may have its name, and the answer alone been lost. Where that cannot be asked, the next run asks.
        const now = await options.destination.resume(draft.id);
        if (now?.published) return { name, sizeBytes: now.published.sizeBytes };
        // Of a whole file the storage is told once more: that finds what it has taken, and all of it is here.
        const done = now && isPassing(error) ? await commit(now).catch(() => undefined) : undefined;
        if (done) return done;
        await now?.release();
      }
      await draft.abort();
      await options.onSave(undefined);
    } else await draft.release();
    throw error;
  }
}

function digestsOf(options: FetchOptions, source: Source): Digests {
  return { ...source.digests, ...options.digests };
}

/** The draft of the earlier run, when the source has not changed; else a new draft. */
async function takeDraft(options: FetchOptions, source: Source, saved: SavedFetch | undefined) {
  const { destination } = options;
  const { validator, sizeBytes } = source;
  if (saved) {
    const draft = await destination.resume(saved.draftId);
    const { parts } = saved;
    const isSame = parts && provesSame(parts.validator, validator);
    if (draft && isSame && source.hasRanges && parts.sizeBytes === sizeBytes) return { draft, name: saved.name, parts };
    await draft?.abort();
  }
  const name = chooseFileName(source, options.clock());
  const hasDigests = Object.keys(digestsOf(options, source)).length > 0;
  const draft = await destination.begin({ name, sizeBytes, hasDigests }, (draftId) => options.onSave({ name, draftId, parts: undefined }));
  return { draft, name, parts: undefined as SavedParts | undefined };
}
