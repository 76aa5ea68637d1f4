import type { Stats } from 'node:fs';
import { type EntryName, type MountPath, nameAt } from '@wharf/paths';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';

/**
 * Entries cross threads as numbers, five each: kind, is a link, size in bytes, modified and created in milliseconds (0 = unknown). Many do as
 * bytes, which are copied as they are; for one a plain array costs less.
 */
export const NUMBERS_PER_ENTRY = 5;

/** One entry by itself. */
export type PackedEntry = readonly number[];

/** The farthest from 1970 that a Date can be, in milliseconds (ECMAScript, 21.4.1.1). Some disks keep times that are farther. */
const MAX_DATE_MS = 8.64e15;

const GONE = 0;
const FILE = 1;
const FOLDER = 2;

export function packEntry(packed: Float64Array | number[], at: number, stats: Stats, isLink: boolean): void {
  packed[at] = stats.isDirectory() ? FOLDER : FILE;
  packed[at + 1] = isLink ? 1 : 0;
  // A link without a target shows its own size, everything that is neither file nor link shows none.
  packed[at + 2] = stats.isFile() || stats.isSymbolicLink() ? stats.size : 0;
  packed[at + 3] = stats.mtimeMs;
  packed[at + 4] = stats.birthtimeMs;
}

export function packOne(stats: Stats, isLink: boolean): PackedEntry {
  const packed: number[] = [];
  packEntry(packed, 0, stats, isLink);
  return packed;
}

export function packGone(packed: Float64Array, at: number): void {
  packed[at] = GONE;
}

/** The entry at this place; undefined for one that is gone. */
export function unpackEntry(name: EntryName, packed: ArrayLike<number>, at: number): Entry | undefined {
  const kind = packed[at];
  if (kind === undefined || kind === GONE) return undefined;
  const createdMs = packed[at + 4] ?? 0;
  return {
    name,
    isDirectory: kind === FOLDER,
    sizeBytes: packed[at + 2] ?? 0,
    modifiedAt: dateOf(packed[at + 3] ?? 0),
    ...(createdMs > 0 ? { createdAt: dateOf(createdMs) } : {}),
    ...(packed[at + 1] === 1 ? { isLink: true } : {}),
  };
}

/** The entry of a path that was looked at by itself. @throws AppError ENTRY_NOT_FOUND */
export function unpackOne(path: MountPath, packed: PackedEntry): Entry {
  const entry = unpackEntry(nameAt(path), packed, 0);
  if (entry === undefined) throw storageError('ENTRY_NOT_FOUND');
  return entry;
}

function dateOf(ms: number): Date {
  return new Date(Math.round(Math.max(-MAX_DATE_MS, Math.min(MAX_DATE_MS, ms))));
}
