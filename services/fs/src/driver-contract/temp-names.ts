import { randomBytes, randomUUID } from 'node:crypto';
import { newOwnedName, OWNED_NAME, type OwnerState, ownerOf, type ProcessOwner } from '@wharf/owned-names';
import type { MountPath } from '@wharf/paths';
import { storageError } from './storage-error.ts';

/** The folder right below the root that holds files on their way, mode 0700, there only while it is needed. */
export const TEMP_FOLDER = '.wharf-tmp';

/** Beside a target, where the folder above is on another file system. */
const BESIDE_PREFIX = `${TEMP_FOLDER}-`;

/** A file that is put together over several processes: it belongs to none, and goes by its age. */
const DRAFT_NAME = /^draft-[0-9a-f]{32}$/;

/**
 * What had a name and lies aside, so that it may be the only copy of what it is: no sweep removes it. `aside-<seconds, in hex>-<owner>-<name>`, or
 * without the name a folder of ours that holds it under its name.
 */
const ASIDE_NAME = /^aside-([0-9a-f]{8})-((?:[0-9a-f]+-){3}[0-9a-f]{16})(?:-(.+))?$/s;
/** In the place of the seconds: something else has the name, and what lies aside never gets it again. */
const SETTLED = 'ffffffff';
/** A folder that was removed, and goes piece by piece: `doomed-<seconds, in hex>-<32 digits>`. One that was made to try spellings has a letter behind it. */
const DOOMED_NAME = /^doomed-([0-9a-f]{8})-[0-9a-f]{32}(?:-(?:\u00e9|e\u0301))?$/;
/** The longest name that any storage in use takes: disks of eCryptfs have this limit. */
const MAX_ASIDE_BYTES = 143;

const OTHERS_MAX_AGE_MS = 24 * 60 * 60 * 1000;
const DRAFTS_MAX_AGE_MS = 48 * 60 * 60 * 1000;
/** After so long what somebody began to remove goes without whoever was to go on with it. */
const DOOMED_MAX_AGE_MS = 48 * 60 * 60 * 1000;

export function newBesideName(owner: ProcessOwner): string {
  return BESIDE_PREFIX + newOwnedName(owner);
}

/** What a draft is called below the root, and beside its target. */
export function draftNames(id: string): { inArea: string; beside: string } {
  return { inArea: `draft-${id}`, beside: `${BESIDE_PREFIX}draft-${id}` };
}

/** A name of ours for what steps aside. */
interface AsideName {
  readonly name: string;
  /** It is a folder, and what stepped aside lies in it under its own name: that is too long to be a part of another, or the server wants it so. */
  readonly isFolder: boolean;
}

/** @param of undefined: it shall be a folder */
export function newAsideName(owner: ProcessOwner, of: string | undefined, nowMs: number): AsideName {
  const short = `${BESIDE_PREFIX}aside-${inHex(nowMs)}-${newOwnedName(owner)}`;
  if (of === undefined) return { name: short, isFolder: true };
  const long = `${short}-${of}`;
  return Buffer.byteLength(long) <= MAX_ASIDE_BYTES ? { name: long, isFolder: false } : { name: short, isFolder: true };
}

/** What a folder is called from its removal on, until nothing is left of it. */
export function newDoomedName(nowMs: number): string {
  return `${BESIDE_PREFIX}doomed-${inHex(nowMs)}-${randomBytes(16).toString('hex')}`;
}

/** Of a folder by which it is tried how a server takes names: it has letters of both cases in other spellings, and one that can be composed otherwise. */
export function newSpelledName(nowMs: number): string {
  return `${newDoomedName(nowMs)}-\u00e9`;
}

export function isDoomedName(name: string): boolean {
  return name.startsWith(BESIDE_PREFIX) && DOOMED_NAME.test(name.slice(BESIDE_PREFIX.length));
}

/** What the name of something that stepped aside says. */
export interface SaidAside {
  readonly owner: OwnerState;
  readonly sinceMs: number;
  /** What it is to be called again; undefined: it lies under that in a folder which is called so. */
  readonly of: string | undefined;
  /** Something else has its name for good. */
  readonly isSettled: boolean;
}

/** Undefined for every other name. */
export function readAsideName(name: string, self: ProcessOwner): SaidAside | undefined {
  const [, seconds, owned, of] = name.startsWith(BESIDE_PREFIX) ? (ASIDE_NAME.exec(name.slice(BESIDE_PREFIX.length)) ?? []) : [];
  const owner = ownerOf(owned ?? '', self);
  return owner && { owner, sinceMs: Number.parseInt(seconds ?? '', 16) * 1000, of, isSettled: seconds === SETTLED };
}

/** What something that lies aside is called once something else has its name for good. @param name that `readAsideName` knows */
export function settledName(name: string): string {
  return name.replace(/aside-[0-9a-f]{8}/, `aside-${SETTLED}`);
}

/** Whether a name belongs to us: such entries are not listed, and no call reaches them. */
export function isReservedName(name: string): boolean {
  if (!name.startsWith('.')) return false;
  const lower = name.toLowerCase();
  if (lower === TEMP_FOLDER) return true;
  const own = lower.startsWith(BESIDE_PREFIX) ? lower.slice(BESIDE_PREFIX.length) : '';
  return OWNED_NAME.test(own) || DRAFT_NAME.test(own) || ASIDE_NAME.test(own) || DOOMED_NAME.test(own);
}

export function isReservedPath(path: string): boolean {
  return path.includes('/.') && path.toLowerCase().includes(`/${TEMP_FOLDER}`) && path.split('/').some(isReservedName);
}

/** Our own files are not there for callers. @throws AppError ENTRY_NOT_FOUND */
export function checkReachable(path: MountPath): void {
  if (isReservedPath(path)) throw storageError('ENTRY_NOT_FOUND');
}

/** Nor can a caller make something under a name of ours. @throws AppError PERMISSION_DENIED */
export function checkUnreserved(path: MountPath): void {
  if (isReservedPath(path)) throw storageError('PERMISSION_DENIED');
}

/**
 * Whether a temporary file may go: its owner is a process of this host that has ended, or is somebody else's and was not written for a day,
 * or for `othersMaxAgeMs`. A name that is not ours never may, nor what stepped aside.
 *
 * @param touchedMs when it was last worked on: its time of change alone may be the old date that its file is to have
 */
export function isAbandoned(
  name: string,
  touchedMs: number,
  self: ProcessOwner,
  nowMs: number,
  othersMaxAgeMs = OTHERS_MAX_AGE_MS,
): boolean {
  const own = name.startsWith(BESIDE_PREFIX) ? name.slice(BESIDE_PREFIX.length) : name;
  if (DRAFT_NAME.test(own)) return nowMs - touchedMs > DRAFTS_MAX_AGE_MS;
  const [, doomed] = DOOMED_NAME.exec(own) ?? [];
  if (doomed !== undefined) return nowMs - Number.parseInt(doomed, 16) * 1000 > DOOMED_MAX_AGE_MS;
  const state = ownerOf(own, self);
  return state === 'gone' || (state === 'elsewhere' && nowMs - touchedMs > othersMaxAgeMs);
}

/** Whether a temporary file belongs to another process of this host: when that still lives, the file is to be looked at again. */
export function isOfAnotherProcess(name: string, self: ProcessOwner): boolean {
  return ['lives', 'gone'].includes(ownerOf(name, self) ?? '');
}

/** Seconds, in eight digits. */
function inHex(ms: number): string {
  return Math.floor(ms / 1000)
    .toString(16)
    .padStart(8, '0');
}

const PROBE_NAME = /^wharf-probe-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Of an empty file by which it is found out whether two folders are one: other storages show it, so it is no hidden name of ours. */
export function newProbeName(): string {
  return `wharf-probe-${randomUUID()}`;
}

export function isProbeName(name: string): boolean {
  return PROBE_NAME.test(name);
}
