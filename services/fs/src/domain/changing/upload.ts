import { Readable } from 'node:stream';
import { AppError } from '@wharf/errors';
import { baseName, isWithin, type MountPath, parentPath, type VirtualPath } from '@wharf/paths';
import { requireKeepable } from '../../driver-contract/declared-names.ts';
import {
  type BeforePublish,
  type Entry,
  type Hashes,
  type StorageDriver,
  supports,
  type WriteOptions,
} from '../../driver-contract/storage-driver.ts';
import { throwIfAborted } from '../../driver-contract/storage-error.ts';
import { wholeContent } from '../../driver-contract/whole-content.ts';
import { ownRefusal } from '../access/own-refusal.ts';
import { denied } from '../access/permissions.ts';
import type { Located } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import { type HeldClaim, withinClaim } from '../quota/quota.ts';
import type { Outcome } from '../reading/folder-cache.ts';
import { findEntry } from '../reading/get-entry.ts';
import { locate, locateIn, resolvePath } from '../snapshot/snapshot.ts';
import { watched } from './copy-file.ts';
import { claimRoom, holdRoom } from './operations/claim-room.ts';
import { callOf, type Operation, type OwnCall, requireCreation, requireCreationOf } from './operations/operation.ts';
import { patiently } from './operations/rights-of-now.ts';
import { isDeep, SMALL_BYTES, type SmallFilesTarget, writeTogether } from './small-files.ts';

/** What a client says of the file it sends. */
export interface UploadRequest {
  /** Relative to the caller's base path. */
  readonly path: string;
  readonly overwrite: boolean;
  /** Of the rule that guards the file which is replaced; empty when the client sends none. Undefined: it was asked for before. */
  readonly password: string | undefined;
  /** Bytes; undefined when the client does not know. */
  readonly sizeBytes: number | undefined;
  readonly modifiedAt: Date | undefined;
  readonly expectedHashes: Hashes;
  /** The id of the storage that was chosen before. Absent: whichever covers the path. */
  readonly storage?: number;
  /** The name of the claim that was made by {@link Upload.hold} when the content was taken in. Absent: there is none. */
  readonly claim?: string | undefined;
}

/** A file with the size it has, whether its storage tells it or not. */
export type StoredFile = Entry & { readonly sizeBytes: number };

/** An upload that may begin. */
export interface Upload {
  readonly path: VirtualPath;
  readonly located: Located<Mount>;
  /** Whether the password given lets the caller destroy a file of that name, even if none was there yet. */
  readonly mayReplace: boolean;
  /** Whether it is the password that does: without one the rules would not let the caller. */
  readonly needsPassword: boolean;
  /**
   * Passes a content on as long as whoever sends it is logged in and may: of one of a known size its last byte too.
   * @param sizeBytes as the request says, unless told. @throws AppError UNAUTHENTICATED | PERMISSION_DENIED
   */
  whileAllowed(content: AsyncIterable<Uint8Array>, sizeBytes?: number): AsyncIterable<Uint8Array>;
  /** Claims room for a content that is stored later, perhaps by another process. @throws AppError QUOTA_EXCEEDED */
  hold(claim: string): Promise<HeldClaim>;
  /**
   * Stores the content whole or not at all.
   *
   * @param replaces what is known of the file that is replaced: the new one is told apart from it, as far as the storage lets it.
   * @throws AppError QUOTA_EXCEEDED as soon as there is no room for the next byte
   */
  store(content: AsyncIterable<Uint8Array>, beforePublish?: BeforePublish, replaces?: Entry): Promise<StoredFile>;
}

/** While content comes, the login and the rights are asked for again so often, in milliseconds. */
const RENEW_EVERY_MS = 30_000;
/** After so long, in milliseconds, they are asked for again before the file gets its name. */
const RENEW_MS = 2_000;

/** A write that ends so may have been done all the same. What is not like its source is there. */
const OPEN_OUTCOMES = ['CANCELLED', 'DEADLINE_EXCEEDED', 'STORAGE_UNAVAILABLE', 'INTERNAL', 'CONTENT_CORRUPT'] as const;

/** Names that operating systems litter folders with (setting `ignore_system_files`). */
const SYSTEM_FILES = new Set(['.DS_Store', 'desktop.ini', 'Thumbs.db', '@eaDir']);

/**
 * Checks everything that can be checked before the first byte.
 *
 * @throws AppError PERMISSION_DENIED | ENTRY_EXISTS | MOUNT_NOT_FOUND | UNSUPPORTED_OPERATION | IS_A_DIRECTORY
 */
export async function beginUpload(operation: Operation, request: UploadRequest): Promise<Upload> {
  const { snapshot, actor, changes, signal, askedAtMs: allowedAtMs } = operation;
  const call = callOf(operation);
  const path = resolvePath(actor, request.path);
  if (path === '/' || /[/\\]$/.test(request.path)) throw new AppError('INVALID_ARGUMENT', 'File-Path must name a file');
  const located = await locateUpload(operation, path, request.storage);
  // Making a file asks for no password; destroying one does.
  const { password } = request;
  const mayReplace = password === undefined || snapshot.rules.canAccess(actor, path, password);
  if (!mayReplace && (await findEntry(snapshot, path, located, call))) snapshot.rules.requireAccess(actor, path, password);
  const driver = await uploadDriver(located);
  requireKeepable(driver.traits, located.path);
  // Refused early; the driver decides when the content is there.
  if (!request.overwrite && !(await isSaidFree(operation, located, driver)) && (await findEntry(snapshot, path, located, call)))
    throw new AppError('ENTRY_EXISTS', 'file exists');
  const asked = { path, allowedAtMs, password: request.overwrite && mayReplace ? password : undefined };
  const whileAllowed = (content: AsyncIterable<Uint8Array>, sizeBytes = request.sizeBytes) =>
    thenAllowed(content, operation, { ...asked, sizeBytes });
  return {
    path,
    located,
    mayReplace,
    needsPassword: password !== '' && mayReplace && !snapshot.rules.canAccess(actor, path, ''),
    whileAllowed,
    hold: (name) => holdRoom(operation, { name, bytes: request.sizeBytes ?? 0 }),
    async store(content, beforePublish, replaces) {
      const { sizeBytes, expectedHashes } = request;
      const modifiedAt = replaces ? dateBehind(replaces, request.modifiedAt, driver) : request.modifiedAt;
      const overwrite = request.overwrite && mayReplace;
      const known = sizeBytes ?? 0;
      const { claim: name } = request;
      const claim = await (name === undefined ? claimRoom(operation, known) : holdRoom(operation, { name, bytes: known }));
      const bounded = snapshot.quotas.limits(actor) ? withinClaim(content, claim) : content;
      let countedBytes = 0;
      const counted = sizeBytes === undefined ? watched(bounded, (bytes) => (countedBytes += bytes)) : bounded;
      const checked = whileAllowed(counted);
      let stored: Stored;
      let mayBeStored = true;
      const since = changes.now();
      try {
        if (sizeBytes !== undefined && isStoredTogether(driver, located.path, request) && !beforePublish) {
          mayBeStored = false;
          const whole = await wholeContent(checked, { overwrite, sizeBytes, signal });
          // It may wait for its turn.
          const ask = askingAgain(operation, { ...asked, allowedAtMs: performance.now() });
          const now = await placeOfNow(operation, path, located);
          mayBeStored = true;
          stored = await storeSmall(now, whole, { overwrite, modifiedAt, ask, ...call });
        } else {
          const ask = askingAgain(operation, asked);
          const afterWaiting = () => ask(RENEW_MS);
          const how = { overwrite, sizeBytes, modifiedAt, expectedHashes, beforePublish, whileAllowed, afterWaiting };
          stored = { driver, entry: await driver.write(located.path, checked, { ...how, ...call }) };
        }
      } catch (error) {
        // A storage may refuse what it has taken: an answer that is lost, or a look afterwards, is an error too.
        if (mayBeStored) changes.entryChanged(path);
        // Whether a storage that was left in the middle has taken the file, nobody knows: it is counted.
        if (!mayBeStored || isOutcomeKnown(error)) await claim.release();
        else await claim.abandon();
        // What appeared meanwhile is guarded like what was there.
        if (!mayReplace && AppError.is(error, 'ENTRY_EXISTS')) snapshot.rules.requireAccess(actor, path, password);
        throw error;
      }
      const writtenBytes = stored.entry.sizeBytes ?? sizeBytes ?? countedBytes;
      // It is there, whatever becomes of its room.
      changes.entryBecame({ path, ...stored, since });
      await claim.settle(writtenBytes);
      return { ...stored.entry, sizeBytes: writtenBytes };
    },
  };
}

/** A storage that promises nothing of dates may keep some: a gateway whose root is none of its storages, an Alias of which one folder takes none. */
const UNKNOWN_STEP_MS = 1_000;
/** Disks and servers end in 2038, 2106 or 2446, where all later dates are one: no date so far ahead, in milliseconds, is given to tell files apart. */
const FAR_AHEAD_MS = 366 * 24 * 3_600_000;

/**
 * The date of a file that takes the place of another one. Where nothing but date and size tells the two apart it is a later one: a storage may count
 * whole seconds, in which many can be written. Of one that is far ahead it is the date of now.
 */
function dateBehind({ modifiedAt, version, hashes }: Entry, wanted: Date | undefined, { traits }: StorageDriver): Date | undefined {
  if (version !== undefined || hashes !== undefined) return wanted;
  const now = Date.now();
  const isFar = (ms: number) => ms > now + FAR_AHEAD_MS;
  const behind = modifiedAt.getTime() + (traits.modTimeStepMs ?? UNKNOWN_STEP_MS);
  if (isFar(behind)) return new Date(now);
  const said = wanted?.getTime() ?? now;
  return new Date(Math.max(isFar(said) ? now : said, behind));
}

/** Whether a content goes to its storage in one call with others: a small one that is held to nothing but its size. */
function isStoredTogether(
  driver: StorageDriver,
  file: MountPath,
  { sizeBytes, expectedHashes }: UploadRequest,
): driver is SmallFilesTarget {
  const isSmall = sizeBytes !== undefined && sizeBytes <= SMALL_BYTES && !isDeep(file);
  return isSmall && supports(driver, 'writeMany') && Object.values(expectedHashes).every((hash) => hash === undefined);
}

/** What was stored, and where. */
type Stored = Pick<Outcome, 'driver'> & { readonly entry: Entry };

/** A driver that takes files, and where in its storage one goes. */
interface UploadPlace {
  readonly driver: Awaited<ReturnType<typeof uploadDriver>>;
  readonly file: MountPath;
}

/**
 * While a content comes its storage may be opened anew, or saved with other items, which is another connection: the one of the moment takes it.
 *
 * @throws AppError as locateUpload and uploadDriver
 */
async function placeOfNow(operation: Operation, path: VirtualPath, located: Located<Mount>): Promise<UploadPlace> {
  try {
    return { driver: await uploadDriver(located), file: located.path };
  } catch (error) {
    if (!operation.renewed || !AppError.is(error, 'STORAGE_UNAVAILABLE')) throw error;
    const anew = await locateUpload(await operation.renewed(), path, located.mount.storage._id);
    return { driver: await uploadDriver(anew), file: anew.path };
  }
}

type SmallUpload = Pick<WriteOptions, 'overwrite' | 'modifiedAt'> & OwnCall & { readonly ask: AskAgain };

async function storeSmall({ driver, file }: UploadPlace, content: Uint8Array, { ask, ...upload }: SmallUpload): Promise<Stored> {
  if (!supports(driver, 'writeMany')) {
    const how = { ...upload, sizeBytes: content.byteLength, beforePublish: () => ask(RENEW_MS) };
    const entry = await driver.write(file, Readable.from([content]), how);
    return { driver, entry };
  }
  const { overwrite, modifiedAt, signal } = upload;
  const mayPublishUntil = async () => {
    throwIfAborted(signal);
    await ask(RENEW_MS);
    return Number.POSITIVE_INFINITY;
  };
  return { driver, entry: await writeTogether(driver, { file, content, overwrite, modifiedAt, mayPublishUntil }, {}) };
}

/**
 * The place that an upload goes to, if the caller may upload there at this moment.
 *
 * @param storage the id of the one that was chosen before. Undefined: whichever covers the path.
 * @throws AppError PERMISSION_DENIED | MOUNT_NOT_FOUND | IS_A_DIRECTORY
 */
export async function locateUpload(operation: Operation, path: VirtualPath, storage: number | undefined): Promise<Located<Mount>> {
  const { snapshot } = operation;
  const name = baseName(path) ?? '';
  requireUpload(operation, path);
  await requireCreationOf(operation, parentPath(path));
  if (snapshot.settings.isOn('ignore_system_files') && (SYSTEM_FILES.has(name) || name.startsWith('._')))
    throw ownRefusal('PERMISSION_DENIED', 'system file upload ignored');
  if (snapshot.table.isProtected(path)) throw new AppError('IS_A_DIRECTORY', 'a storage is mounted there');
  return storage === undefined ? locate(snapshot, path) : locateIn(snapshot, path, storage);
}

/** The driver of a storage that takes files. @throws AppError UNSUPPORTED_OPERATION */
export async function uploadDriver({ mount }: Located<Mount>): Promise<StorageDriver & Required<Pick<StorageDriver, 'write'>>> {
  const driver = await mount.driver();
  if (mount.definition.config.no_upload || !supports(driver, 'write')) throw new AppError('UNSUPPORTED_OPERATION', 'upload not supported');
  return driver;
}

/**
 * Whether a kept listing is without the name, so that the storage need not be asked twice. Safe only where the driver takes a new file
 * atomically: somebody may have made one since. That a listing has a name proves nothing, as somebody may have removed it.
 */
async function isSaidFree({ folderCache }: Operation, located: Located<Mount>, { traits }: StorageDriver): Promise<boolean> {
  const name = baseName(located.path);
  if (!traits.exclusiveCreate || name === undefined) return false;
  const listing = await folderCache.findListing({ ...located, path: parentPath(located.path) });
  return listing !== undefined && listing.find(name) === undefined;
}

/** Whether a write that failed so has surely made nothing. */
export function isOutcomeKnown(error: unknown): boolean {
  return AppError.is(error) && !OPEN_OUTCOMES.some((code) => AppError.is(error, code));
}

/** @throws AppError PERMISSION_DENIED */
function requireUpload({ snapshot, actor }: Operation, path: VirtualPath): void {
  if (!isWithin(actor.basePath, path)) throw denied();
  requireCreation(snapshot, actor, parentPath(path));
  snapshot.rules.requireEntry(actor, path, 'create');
}

/** Asks for the login and the rights again where that was so long ago, in milliseconds. Rejects with UNAUTHENTICATED | PERMISSION_DENIED. */
type AskAgain = (afterMs: number) => Promise<void>;

/** What was asked of an upload, and when. */
interface Asked {
  readonly path: VirtualPath;
  /** By the clock of the process. */
  readonly allowedAtMs: number;
  /** Lets the caller replace what is there; undefined: it is not asked for. */
  readonly password: string | undefined;
  /** Of the content. Absent: not known. */
  readonly sizeBytes?: number | undefined;
}

function askingAgain({ renewed, signal }: Operation, { path, allowedAtMs, password }: Asked): AskAgain {
  let askedAtMs = allowedAtMs;
  return async (afterMs) => {
    if (!renewed || performance.now() - askedAtMs < afterMs) return;
    const nowMs = performance.now();
    const operation = await patiently(renewed, signal);
    requireUpload(operation, path);
    if (password !== undefined) operation.snapshot.rules.requireAccess(operation.actor, path, password);
    // Whoever is refused and asks again is refused again.
    askedAtMs = nowMs;
  };
}

/**
 * Passes a content on. Where that takes long its end comes only if whoever sends it still may, so that it gets no name otherwise. It may begin much later than
 * its rights were asked, as the last part of a form.
 */
export async function* thenAllowed(
  content: AsyncIterable<Uint8Array>,
  operation: Operation,
  asked: Asked,
): AsyncGenerator<Uint8Array, void> {
  const ask = askingAgain(operation, asked);
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.byteLength;
    // A server that was told the size has all of it with the last byte, whatever comes after that.
    await ask(bytes === asked.sizeBytes ? RENEW_MS : RENEW_EVERY_MS);
    yield chunk;
  }
  await ask(RENEW_MS);
}
