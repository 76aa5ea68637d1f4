import { AppError } from '@wharf/errors';
import { parentPath } from '@wharf/paths';
import { type BeforePublish, type Entry, type StorageDriver, supports } from '../../driver-contract/storage-driver.ts';
import { whileOpen } from '../../driver-contract/while-open.ts';
import { hasOtherHash, hasOtherSize } from './looks-like-copy.ts';
import type { OwnCall, Place } from './operations/operation.ts';
import { RENEW_MS } from './operations/rights-of-now.ts';
import { removeCopy, takingBack } from './remove-copy.ts';

/** A storage that takes files and folders. */
export type TargetDriver = StorageDriver & Required<Pick<StorageDriver, 'write' | 'makeDirectory'>>;

export interface FileCopy {
  readonly from: Place;
  readonly to: Place & { readonly driver: TargetDriver };
  readonly overwrite: boolean;
  /** What a listing or a look has said of the source. */
  readonly said?: Pick<Entry, 'sizeBytes'>;
  readonly signal: AbortSignal;
  /** These three as of CallOptions. */
  readonly caller?: string | undefined;
  readonly afterWaiting?: (() => Promise<void>) | undefined;
  readonly isPatient?: true | undefined;
  /** The source is open, with so many bytes: waited for before the first of them is written. It may be told again, as a file of unknown size grows. */
  readonly onOpened?: (bytes: number) => Promise<void>;
  /** Told of bytes as they are copied; of all at once where the storage copies itself. */
  readonly onBytes?: (bytes: number) => void;
  /** Asked before the file gets its name; where the storage copies itself, right before it begins. */
  readonly beforePublish?: BeforePublish;
  /** For a small file: copies it with others, where storages can; that asks before the name by itself. @returns undefined: they cannot */
  readonly together?: ((copy: FileCopy) => Promise<CopiedFile | undefined>) | undefined;
}

/** Both files of a copy that is made. */
export interface CopiedFile {
  /** As it was when it was opened or, where the storage copied it, right before. */
  readonly source: Entry;
  readonly target: Entry;
  /** Undefined where the storage copied it. */
  readonly readBytes: number | undefined;
}

/**
 * Copies one file, whole or not at all and with its time, and compares size and hash, where both are told. Of a source that
 * tells no size the bytes count that were read. Within one opened storage that
 * copies itself no byte passes through us; else the file is read and written. Missing parents of the target are made.
 *
 * @throws AppError ENTRY_EXISTS | ENTRY_NOT_FOUND | IS_A_DIRECTORY | CONTENT_CORRUPT | what the storages throw
 */
export async function copyFile(copy: FileCopy): Promise<CopiedFile> {
  const copied = (await copyInside(copy)) ?? (await copy.together?.(copy)) ?? (await readAndWrite(copy));
  const { source, target } = copied;
  if (hasOtherSize({ sizeBytes: source.sizeBytes ?? copied.readBytes }, target) || hasOtherHash(source, target))
    throw new AppError('CONTENT_CORRUPT', 'the copy is not like its source');
  return copied;
}

/** Whether both places are in one opened storage that copies by itself. */
export function copiesItself(from: Pick<Place, 'driver'>, to: Pick<Place, 'driver'>): boolean {
  return from.driver === to.driver && supports(from.driver, 'copy');
}

/** @returns undefined where no storage can do it itself */
async function copyInside({ from, to, overwrite, onOpened, onBytes, beforePublish, ...rest }: FileCopy): Promise<CopiedFile | undefined> {
  const { driver } = from;
  const call = callOf(rest);
  if (!copiesItself(from, to) || !supports(driver, 'copy')) return undefined;
  // What changes after this look is not what was noted: whoever removes the source compares it, and it stays.
  const source = await driver.stat(from.path, call);
  if (source.isDirectory) throw notFile();
  await onOpened?.(source.sizeBytes ?? 0);
  const make = async () => {
    await beforePublish?.();
    return driver.copy(from.path, to.path, { ...call, overwrite });
  };
  try {
    const begunAtMs = performance.now();
    const target = await make().catch(async (error) => {
      // A copy wants the folder it goes to, unlike a write; most often it is there.
      if (!AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
      await to.driver.makeDirectory(parentPath(to.path), call);
      return make();
    });
    const tookMs = performance.now() - begunAtMs;
    if (target.isDirectory) {
      // It has become a folder since the look, and nobody has looked through that for what is hidden.
      await removeCopy(to, from.path, target, takingBack(tookMs));
      throw notFile();
    }
    if (tookMs >= RENEW_MS) await requireStill(to, target, tookMs, call);
    onBytes?.(source.sizeBytes ?? 0);
    return { source, target, readBytes: undefined };
  } catch (error) {
    if (AppError.is(error, 'UNSUPPORTED_OPERATION')) return undefined;
    throw error;
  }
}

/**
 * What a storage copied for long is asked about once more: a rule may have come, and after it what was copied. A copy that may not be goes; what it took the
 * place of is gone by then.
 *
 * @throws AppError PERMISSION_DENIED | UNAUTHENTICATED; FAILED_PRECONDITION for the admin
 */
async function requireStill(to: Place, target: Entry, tookMs: number, { afterWaiting }: OwnCall): Promise<void> {
  try {
    await afterWaiting?.();
  } catch (error) {
    // Where nobody can say, it is as it was at the beginning.
    if (!REFUSALS.some((code) => AppError.is(error, code))) return;
    await removeCopy(to, to.path, target, takingBack(tookMs));
    throw error;
  }
}

const REFUSALS = ['PERMISSION_DENIED', 'UNAUTHENTICATED', 'FAILED_PRECONDITION'] as const;
const notFile = () => new AppError('IS_A_DIRECTORY', 'not a file');

/** What each call of a storage for a copy is given. */
const callOf = ({
  signal,
  caller,
  isPatient,
  afterWaiting,
}: Pick<FileCopy, 'signal' | 'caller' | 'isPatient' | 'afterWaiting'>): OwnCall => ({ signal, caller, isPatient, afterWaiting });

function readAndWrite({ from, to, overwrite, said, onOpened, onBytes, beforePublish, ...rest }: FileCopy): Promise<CopiedFile> {
  const call = callOf(rest);
  const open = (reading: AbortSignal) => from.driver.read(from.path, undefined, { ...call, signal: reading });
  return whileOpen(call.signal, open, async (content) => {
    const { entry } = content;
    if (said && hasOtherSize(said, entry)) requireSame(entry, await from.driver.stat(from.path, call));
    await onOpened?.(entry.sizeBytes ?? 0);
    let readBytes = 0;
    const count = (bytes: number) => {
      readBytes += bytes;
      onBytes?.(bytes);
    };
    const known = onBytes || entry.sizeBytes === undefined ? watched(content, count) : content;
    const claimed = entry.sizeBytes === undefined && onOpened ? asItGrows(known, onOpened) : known;
    const target = await to.driver.write(to.path, claimed, {
      ...call,
      overwrite,
      beforePublish,
      sizeBytes: entry.sizeBytes,
      modifiedAt: entry.modifiedAt,
      expectedHashes: entry.hashes,
    });
    return { source: entry, target, readBytes: entry.sizeBytes === undefined ? readBytes : undefined };
  });
}

/** @throws AppError FAILED_PRECONDITION: a storage gives less or more of a file than it has, as it says, and says nothing of a change. Of others it may give all. */
function requireSame(read: Entry, now: Entry): void {
  if (!hasOtherSize(read, now) || read.version !== now.version || read.modifiedAt.getTime() !== now.modifiedAt.getTime()) return;
  throw new AppError(
    'FAILED_PRECONDITION',
    `its storage gives ${read.sizeBytes} bytes of a file of which it says that it has ${now.sizeBytes}: try again`,
  );
}

/** How far ahead of what is read room is asked for, in bytes. */
const AHEAD_BYTES = 1024 * 1024;

/** @param take may refuse the bytes from the begin up to here, and is asked before they are passed on */
async function* asItGrows(content: AsyncIterable<Uint8Array>, take: (bytes: number) => Promise<void>): AsyncGenerator<Uint8Array, void> {
  let [readBytes, takenBytes] = [0, 0];
  for await (const chunk of content) {
    readBytes += chunk.byteLength;
    if (readBytes > takenBytes) {
      takenBytes = readBytes + AHEAD_BYTES;
      await take(takenBytes).catch(() => {
        takenBytes = readBytes;
        return take(takenBytes);
      });
    }
    yield chunk;
  }
}

/** Passes a content on and tells how much of it. */
export async function* watched(content: AsyncIterable<Uint8Array>, onBytes: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    onBytes(chunk.byteLength);
    yield chunk;
  }
}
