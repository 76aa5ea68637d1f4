import type { TaskChunks } from '@wharf/task-engine';
import { z } from 'zod';
import type { Entry } from '../driver-contract/storage-driver.ts';
import { isSameSize, isSameVersion, isToldOtherwise } from '../driver-contract/unchanged.ts';

/** What tells one content of a file from another. */
export const versionShape = z.object({
  /** Absent where the storage does not tell one. */
  size: z.number().optional(),
  modified: z.number(),
  /** Absent where the storage does not tell. */
  created: z.number().optional(),
  /** Absent where the storage has none. */
  version: z.string().optional(),
});
type FileVersion = z.output<typeof versionShape>;

const entryShape = z.object({
  /** Below the source; empty for the source itself. */
  path: z.string(),
  /** A link to a folder becomes a folder: it is never entered. */
  kind: z.enum(['folder', 'link', 'file']),
  /** The file as it was when it was listed, then as it was copied. */
  ...versionShape.shape,
  /** What is to be replaced, as it was before anything was begun there; null: nothing was there. Of what was moved: its copy. */
  before: versionShape.nullable().optional(),
  /** It was so new when it was copied that its storage may tell no change since then: before it is removed its content is compared. */
  recent: z.literal(true).optional(),
  /** It was not copied, and so is not removed either. */
  left: z.literal(true).optional(),
  /** Something was at its target before: whether that is another file is asked once more before this one is removed. */
  replaces: z.literal(true).optional(),
});
export const entriesShape = z.array(entryShape);
export const manifestChunk = z.object({ entries: entriesShape });

/** One entry that is to be copied. */
export type ManifestEntry = z.output<typeof entryShape>;
type Chunk = z.output<typeof manifestChunk>;

export const positionShape = z.object({ chunk: z.number().int(), index: z.number().int() });
/** Where an entry stands in a manifest. */
export type Position = z.output<typeof positionShape>;

/** How much of a manifest counts; a walk that was cut off may have written more. */
export interface Extent {
  /** Undefined where `entries` has all: a version that does not know these refuses the checkpoint instead of copying nothing. */
  readonly chunks?: number | undefined;
  /** Entries in the last chunk. */
  readonly lastEntries: number;
  /** All of them, where they are so few that there is no chunk. */
  readonly entries?: ManifestEntry[] | undefined;
}

/** Text of one chunk, in bytes: far below what a document may hold. */
const CHUNK_BYTES = 192 * 1024;
/** A manifest of so many bytes at most lies in the checkpoint, which is written anyway. */
const INLINE_BYTES = 2 * 1024;
/** What an entry takes beside its path, about. */
const ENTRY_BYTES = 100;

/**
 * Everything that a task copies, folders before what is in them, in durable chunks. In memory are the chunk that grows and the one that was
 * read last.
 */
export interface Manifest {
  append(entry: ManifestEntry): Promise<void>;
  /** How many there are, with the one that grows. */
  chunks(): number;
  /** Undefined behind the last chunk. The entries may be changed; `changed` says that they were. */
  read(chunk: number): Promise<readonly ManifestEntry[] | undefined>;
  changed(chunk: number): void;
  /** Makes everything durable; the extent holds after that. */
  save(): Promise<Extent>;
}

/** Asked before the store is to hold so many bytes more, for weeks where the task fails. @throws AppError QUOTA_EXCEEDED */
export type TakeRoom = (bytes: number) => Promise<void>;

export async function openManifest(chunks: TaskChunks<Chunk>, extent: Extent, takeRoom?: TakeRoom): Promise<Manifest> {
  let growing = Math.max(0, (extent.chunks ?? 1) - 1);
  const stored = async () => (extent.chunks === 0 ? [] : ((await chunks.read(growing))?.entries ?? []));
  let last = (extent.entries ?? (await stored())).slice(0, extent.lastEntries);
  let lastBytes = last.reduce((sum, entry) => sum + bytesOf(entry), 0);
  let isSaved = extent.entries === undefined;
  let other: { chunk: number; entries: ManifestEntry[]; isChanged: boolean } | undefined;

  const isInline = () => growing === 0 && lastBytes <= INLINE_BYTES;
  // What changes while a chunk is written is written the next time; a write that fails ends the attempt.
  const saveLast = async () => {
    if (isSaved || isInline()) return;
    isSaved = true;
    await chunks.write(growing, { entries: last });
  };
  const saveOther = async () => {
    if (!other?.isChanged) return;
    other.isChanged = false;
    await chunks.write(other.chunk, { entries: other.entries });
  };

  return {
    async append(entry) {
      const bytes = bytesOf(entry);
      const isFull = last.length > 0 && lastBytes + bytes > CHUNK_BYTES;
      // A chunk that begins, and the first one when it no longer lies in the checkpoint.
      if (isFull || (isInline() && lastBytes + bytes > INLINE_BYTES)) await takeRoom?.(CHUNK_BYTES);
      if (isFull) {
        await saveLast();
        growing += 1;
        last = [];
        lastBytes = 0;
      }
      last.push(entry);
      lastBytes += bytes;
      isSaved = false;
    },
    chunks: () => growing + 1,
    async read(chunk) {
      if (chunk === growing) return last;
      if (chunk > growing) return undefined;
      if (other?.chunk !== chunk) {
        await saveOther();
        const stored = await chunks.read(chunk);
        if (!stored) throw new Error(`chunk ${chunk} of a manifest is gone`);
        other = { chunk, entries: stored.entries, isChanged: false };
      }
      return other.entries;
    },
    changed(chunk) {
      if (chunk === growing) isSaved = false;
      else if (other?.chunk === chunk) other.isChanged = true;
    },
    async save() {
      await saveOther();
      await saveLast();
      return {
        lastEntries: last.length,
        ...(isInline() ? { chunks: undefined, entries: last } : { chunks: growing + 1, entries: undefined }),
      };
    },
  };
}

export function manifestEntry(path: string, entry: Entry): ManifestEntry {
  const kind = entry.isDirectory ? (entry.isLink ? 'link' : 'folder') : 'file';
  return { path, kind, ...versionOf(entry) };
}

export function versionOf(entry: Entry): FileVersion {
  const { isDirectory, sizeBytes, modifiedAt, createdAt, version } = entry;
  const size = isDirectory ? 0 : sizeBytes;
  return {
    ...(size !== undefined && { size }),
    modified: modifiedAt.getTime(),
    ...(createdAt && { created: createdAt.getTime() }),
    ...(version !== undefined && { version }),
  };
}

export function isVersion(noted: FileVersion, entry: Entry): boolean {
  const { size, modified, created, version } = versionOf(entry);
  const isSized = isSameSize(noted.size, size, isToldOtherwise(modified, noted.version, version));
  return isSized && noted.modified === modified && noted.created === created && isSameVersion(noted.version, version);
}

/** Whether a file may be what was there before. @param before as it was noted; null: nothing was there; undefined: nobody looked */
export function isAsNoted(before: FileVersion | null | undefined, there: Entry): boolean {
  return before === undefined || (before !== null && isVersion(before, there));
}

function bytesOf({ path, version = '' }: ManifestEntry): number {
  return Buffer.byteLength(JSON.stringify(path)) + version.length + ENTRY_BYTES;
}
