import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import { childPath, type MountPath, parentPath } from '@wharf/paths';
import { takeEntries } from '../../driver-contract/entry-map.ts';
import { type BeforePublish, type Entry, type HashName, type StorageDriver, supports } from '../../driver-contract/storage-driver.ts';
import { whileOpen } from '../../driver-contract/while-open.ts';
import type { OwnCall, Place } from './operations/operation.ts';
import { RENEW_MS } from './operations/rights-of-now.ts';
import { haveSameContent } from './same-content.ts';

const HASH_NAMES: readonly HashName[] = ['sha256', 'sha1', 'md5'];

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

/** For taking back what should not have been done, in milliseconds, at least. */
const BACK_MS = 30_000;
/** What takes long may take long to take back. Not the caller's signal, nor among the caller's turns: whoever leaves, or has much under way, would have it stay. */
export const takingBack = (tookMs: number) => ({ signal: AbortSignal.timeout(Math.max(BACK_MS, 2 * tookMs)), isPatient: true }) as const;

/**
 * Takes away what a copy made, as far as the storage lets it: a file that is another one by then is somebody else's, and so is what came into a folder since.
 *
 * @param from what was copied
 */
export async function removeCopy({ driver, path }: Place, from: MountPath, made: Entry, call: OwnCall): Promise<void> {
  if (!supports(driver, 'remove')) return;
  if (!isTree(made)) return driver.remove(path, { ...call, ...alone(made) }).catch(() => undefined);
  const isOfOthers = await holdsOthers(driver, from, path, call).catch(() => true);
  // Where the source cannot be listed any more, nobody knows what of it is a copy, and it stays.
  if (isOfOthers) return removeCopiedIn(driver, from, path, call).catch(() => undefined);
  await driver.remove(path, { ...call, recursive: true }).catch(() => undefined);
}

/** What a link leads to is no part of a copy. */
const isTree = ({ isDirectory, isLink }: Entry) => isDirectory && !isLink;
/** Of a link to a folder nothing tells whether it is another one. */
const alone = (entry: Entry) => ({ recursive: false, onlyIf: entry.isDirectory ? undefined : entry });

/** Both folders of a copy, also with what settings of the storage leave out of listings: others may have stored that too. */
async function listBoth(driver: StorageDriver, from: MountPath, to: MountPath, call: OwnCall) {
  const all = { ...call, seesAll: true } as const;
  const sources = await takeEntries(driver.list(from, all));
  return { sources, copies: (await takeEntries(driver.list(to, all))).values(), pace: createPace(call.signal) };
}

/** Whether a copied folder holds, as far as its storage tells, what its source has not, or has otherwise. */
async function holdsOthers(driver: StorageDriver, from: MountPath, to: MountPath, call: OwnCall): Promise<boolean> {
  const { sources, copies, pace } = await listBoth(driver, from, to, call);
  for (const entry of copies) {
    await pace.step();
    if (!looksCopied(driver, sources.get(entry.name), entry)) return true;
    if (isTree(entry) && (await holdsOthers(driver, childPath(from, entry.name), childPath(to, entry.name), call))) return true;
  }
  return false;
}

/** Takes away what is copied in a folder, and it where nothing else is in it. */
async function removeCopiedIn(driver: RemovingDriver, from: MountPath, to: MountPath, call: OwnCall): Promise<void> {
  const { sources, copies, pace } = await listBoth(driver, from, to, call);
  for (const entry of copies) {
    await pace.step();
    const [source, target] = [childPath(from, entry.name), childPath(to, entry.name)];
    if (!(await isCopied(driver, [source, sources.get(entry.name)], [target, entry], call))) continue;
    if (isTree(entry)) await removeCopiedIn(driver, source, target, call);
    else await driver.remove(target, { ...call, ...alone(entry) }).catch(() => undefined);
  }
  await driver.remove(to, { ...call, recursive: false }).catch(() => undefined);
}

type RemovingDriver = StorageDriver & Required<Pick<StorageDriver, 'remove'>>;

/** A copy that a server makes may have a date of its own: then the content tells, and what is the same is nobody's loss. */
async function isCopied(
  driver: StorageDriver,
  [from, source]: readonly [MountPath, Entry | undefined],
  [to, copy]: readonly [MountPath, Entry],
  call: OwnCall,
): Promise<boolean> {
  if (looksCopied(driver, source, copy)) return true;
  if (!source || !mayBeCopy(source, copy)) return false;
  return haveSameContent({ driver, path: from }, { driver, path: to }, call).catch(() => false);
}

/** By hash, or size and date, where the storage keeps these. */
function looksCopied(driver: StorageDriver, source: Entry | undefined, copy: Entry): boolean {
  if (source?.isDirectory !== copy.isDirectory) return false;
  return copy.isDirectory || looksLikeCopy(source, copy, driver) === true;
}

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

/** Whether a size that both files tell differs. */
export function hasOtherSize(source: Pick<Entry, 'sizeBytes'>, target: Pick<Entry, 'sizeBytes'>): boolean {
  return source.sizeBytes !== undefined && target.sizeBytes !== undefined && source.sizeBytes !== target.sizeBytes;
}

/** Whether a target is a whole copy of a source, as far as what both storages say of them tells; undefined: it does not tell. */
export function looksLikeCopy(source: Entry, target: Entry, driver: StorageDriver): boolean | undefined {
  if (!mayBeCopy(source, target)) return false;
  if (provesCopy(source, target)) return true;
  const stepMs = driver.traits.modTimeStepMs;
  if (stepMs === undefined || source.sizeBytes === undefined || target.sizeBytes === undefined) return undefined;
  return Math.abs(target.modifiedAt.getTime() - source.modifiedAt.getTime()) <= Math.max(1, stepMs);
}

/** Whether a digest that both storages tell proves that a file is a whole copy. */
export function provesCopy(source: Entry, target: Entry): boolean {
  return mayBeCopy(source, target) && hashPairs(source, target).length > 0;
}

/** Whether nothing but its date speaks against a file's being a whole copy: a storage need not keep the date of each, and somebody may have touched it. */
export function mayBeCopy(source: Entry, target: Entry): boolean {
  return !target.isDirectory && !source.isDirectory && !hasOtherSize(source, target) && !hasOtherHash(source, target);
}

/** Whether a digest that both files tell differs. */
function hasOtherHash(source: Entry, target: Entry): boolean {
  return hashPairs(source, target).some(([here, there]) => here !== there);
}

/** The digests that both files tell, in lower case. */
function hashPairs(source: Entry, target: Entry): [string, string][] {
  return HASH_NAMES.flatMap((name) => {
    const [here, there] = [source.hashes?.[name], target.hashes?.[name]];
    return here === undefined || there === undefined ? [] : [[here.toLowerCase(), there.toLowerCase()] as [string, string]];
  });
}
