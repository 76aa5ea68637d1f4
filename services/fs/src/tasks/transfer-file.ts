import { AppError } from '@wharf/errors';
import type { MountPath } from '@wharf/paths';
import type { BeforePublish, Entry, FileContent, HashName, StorageDriver } from '../driver-contract/storage-driver.ts';
import type { TargetDriver } from './placement.ts';

const HASH_NAMES: readonly HashName[] = ['sha256', 'sha1', 'md5'];

export interface FileTransfer {
  readonly from: { readonly driver: StorageDriver; readonly path: MountPath };
  readonly to: { readonly driver: TargetDriver; readonly path: MountPath };
  readonly overwrite: boolean;
  readonly signal: AbortSignal;
  /** Told of each chunk's bytes. */
  readonly onBytes: (bytes: number) => void;
  readonly beforePublish: BeforePublish;
}

/**
 * Copies one file: whole or not at all, with its time, and compares size and, where both storages tell one, hash.
 *
 * @returns the file that was read, as it was when it was opened
 * @throws AppError ENTRY_EXISTS | ENTRY_NOT_FOUND | CONTENT_CORRUPT | what the storages throw
 */
export async function transferFile({ from, to, overwrite, signal, onBytes, beforePublish }: FileTransfer): Promise<Entry> {
  // Aborted at the end in any case: a content that was refused before its first byte still holds its source.
  const reading = new AbortController();
  const content = await from.driver.read(from.path, undefined, { signal: AbortSignal.any([signal, reading.signal]) });
  const { entry } = content;
  try {
    const written = await to.driver.write(to.path, watched(content, onBytes), {
      overwrite,
      beforePublish,
      sizeBytes: entry.sizeBytes,
      modifiedAt: entry.modifiedAt,
      expectedHashes: entry.hashes,
      signal,
    });
    if (written.sizeBytes !== entry.sizeBytes || hasOtherHash(entry, written))
      throw new AppError('CONTENT_CORRUPT', 'the copy is not like its source');
    return entry;
  } finally {
    reading.abort();
  }
}

async function* watched(content: FileContent, onBytes: FileTransfer['onBytes']): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    onBytes(chunk.byteLength);
    yield chunk;
  }
}

function hasOtherHash(source: Entry, target: Entry): boolean {
  return hashPairs(source, target).some(([here, there]) => here !== there);
}

function hashPairs(source: Entry, target: Entry): [string, string][] {
  return HASH_NAMES.flatMap((name) => {
    const [here, there] = [source.hashes?.[name], target.hashes?.[name]];
    return here === undefined || there === undefined ? [] : [[here.toLowerCase(), there.toLowerCase()] as [string, string]];
  });
}

/** Whether a target is a whole copy of a source, as far as what both storages say of them tells; undefined: it does not tell. */
export function looksLikeCopy(source: Entry, target: Entry, driver: StorageDriver): boolean | undefined {
  if (target.isDirectory || source.isDirectory || target.sizeBytes !== source.sizeBytes) return false;
  const hashes = hashPairs(source, target);
  if (hashes.length > 0) return !hasOtherHash(source, target);
  const stepMs = driver.traits.modTimeStepMs;
  if (stepMs === undefined) return undefined;
  return Math.abs(target.modifiedAt.getTime() - source.modifiedAt.getTime()) <= Math.max(1, stepMs);
}

/** Reads both files at once and compares them. */
export function haveSameContent(from: FileTransfer['from'], to: FileTransfer['from'], signal: AbortSignal): Promise<boolean> {
  return hasContent(to, (reading) => from.driver.read(from.path, undefined, { signal: reading }), signal);
}

/** Reads a file and what it is compared with at once. @param open the other content; its signal aborts when no more of it is needed */
export async function hasContent(
  file: FileTransfer['from'],
  open: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>,
  signal: AbortSignal,
): Promise<boolean> {
  const reading = new AbortController();
  const until = AbortSignal.any([signal, reading.signal]);
  try {
    const [here, there] = await Promise.all([open(until), file.driver.read(file.path, undefined, { signal: until })]);
    const others = there[Symbol.asyncIterator]();
    let rest: Uint8Array = new Uint8Array();
    for await (const chunk of here) {
      for (let at = 0; at < chunk.byteLength; ) {
        if (rest.byteLength === 0) {
          const step = await others.next();
          if (step.done) return false;
          rest = step.value;
        }
        const length = Math.min(rest.byteLength, chunk.byteLength - at);
        if (Buffer.compare(chunk.subarray(at, at + length), rest.subarray(0, length)) !== 0) return false;
        at += length;
        rest = rest.subarray(length);
      }
    }
    return rest.byteLength === 0 && (await others.next()).done === true;
  } finally {
    reading.abort();
  }
}

/** What is at a path, undefined when nothing is. */
export async function statIfThere(driver: StorageDriver, path: MountPath, signal: AbortSignal): Promise<Entry | undefined> {
  try {
    return await driver.stat(path, { signal });
  } catch (error) {
    if (AppError.is(error, 'ENTRY_NOT_FOUND') || AppError.is(error, 'NOT_A_DIRECTORY')) return undefined;
    throw error;
  }
}
