import { AppError } from '@wharf/errors';
import type { Pace } from '@wharf/pace';
import { childPath, type EntryName, type MountPath, parentPath, parseEntryName, type VirtualPath } from '@wharf/paths';
import type { CallOptions, StorageDriver } from '../../../driver-contract/storage-driver.ts';
import { ownRefusal } from '../../access/own-refusal.ts';
import { type Actor, denied } from '../../access/permissions.ts';
import type { Located } from '../../mounts/mount-table.ts';
import type { Mount } from '../../mounts/mounts.ts';
import type { FolderCache } from '../../reading/folder-cache.ts';
import { findEntry } from '../../reading/get-entry.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import type { Changes } from '../changes.ts';

/** Whoever changes something, and under which configuration. */
export interface Operation {
  readonly snapshot: Snapshot;
  readonly actor: Actor;
  readonly changes: Changes;
  readonly folderCache: Pick<FolderCache, 'findListing'>;
  readonly signal: AbortSignal;
  /** When its rights and rules were asked for, by the clock of the process. */
  readonly askedAtMs: number;
  /**
   * The same with the rights and the configuration of that moment. Absent where nobody needs it.
   * @param until its signal, where that is another one. @throws AppError PERMISSION_DENIED: the user is gone or disabled
   */
  renewed?(until?: AbortSignal): Promise<Operation>;
  /** The configuration of that moment, as far as it is known, whatever has become of the user. Absent as above. */
  newest?(): Promise<Snapshot>;
}

/** For whom calls of a storage are: no one has more than a share of those that it bears at once. */
export function callerOf({ actor }: Pick<Operation, 'actor'>): string {
  return `user ${actor.id}`;
}

/**
 * Paths that names mean in a folder. One that leads out of it is left out, as the family does.
 *
 * @throws AppError INVALID_ARGUMENT (no names, or one that means the folder itself) | UNSAFE_PATH (what is no single name)
 */
export async function innerPaths(directory: VirtualPath, names: readonly string[], pace: Pace): Promise<VirtualPath[]> {
  if (names.length === 0) throw new AppError('INVALID_ARGUMENT', 'Empty file names');
  const paths: VirtualPath[] = [];
  for (const raw of names) {
    await pace.step();
    if (!LEADS_OUT.test(raw)) paths.push(childPath(directory, singleName(raw)));
  }
  return paths;
}

const LEADS_OUT = /^\.\.(?:\/|$)/;

/** A slash around it changes nothing: clients mark folders so. */
function singleName(raw: string): EntryName {
  const name = raw.replace(/^\/|\/$/g, '');
  if (name === '' || name === '.') throw new AppError('INVALID_ARGUMENT', `invalid file name [${raw}]`);
  return parseEntryName(name);
}

/** The options of calls that end with whoever they are for. */
export type OwnCall = CallOptions & { readonly signal: AbortSignal };

/** What an operation gives with its calls of storages. */
export function callOf(operation: Pick<Operation, 'actor' | 'signal'>): OwnCall {
  return { signal: operation.signal, caller: callerOf(operation) };
}

/** A place in an opened storage. */
export interface Place {
  readonly driver: StorageDriver;
  readonly path: MountPath;
}

export async function open(located: Located<Mount>): Promise<Place> {
  return { driver: await located.mount.driver(), path: located.path };
}

/** Whether the caller may make entries in a folder: by permission or the folder's rule. @throws AppError PERMISSION_DENIED */
export function requireCreation(snapshot: Snapshot, actor: Actor, directory: VirtualPath): void {
  if (!snapshot.rules.canCreateIn(actor, directory)) throw denied();
}

/**
 * Where a folder that is to hold something is missing, it will be made: then whoever makes it must be let by the nearest folder that is
 * there, and by each missing one on the way, whatever rule is nearest to the last of them.
 *
 * @throws AppError PERMISSION_DENIED
 */
export async function requireCreationOf(operation: Operation, directory: VirtualPath): Promise<void> {
  const { snapshot, actor } = operation;
  const above: VirtualPath[] = [];
  for (let at = directory; at !== '/' && at !== actor.basePath; ) {
    at = parentPath(at);
    above.push(at);
  }
  if (above.every((folder) => snapshot.rules.canWrite(actor, folder))) return;
  for (const folder of [directory, ...above]) {
    if (folder !== directory) requireWrite(snapshot, actor, folder);
    const located = snapshot.table.locate(folder);
    if (located && (await findEntry(snapshot, folder, located, callOf(operation)))) return;
  }
}

export function requireWrite(snapshot: Snapshot, actor: Actor, directory: VirtualPath): void {
  if (!snapshot.rules.canWrite(actor, directory)) throw denied();
}

/** Whether the caller may give an entry another name or place, or remove it, as far as paths and rules tell. @throws AppError PERMISSION_DENIED | FAILED_PRECONDITION (a root) */
export function requireUnprotected(snapshot: Snapshot, actor: Actor, path: VirtualPath, verb: 'rename' | 'move' | 'delete'): void {
  const isRoot = () => new AppError('FAILED_PRECONDITION', `${verb} root folder is not allowed`);
  if (path === '/' || path === actor.basePath) throw isRoot();
  // Who does not see an entry is not told that it is a storage.
  snapshot.rules.requireEntry(actor, path, 'write');
  if (snapshot.table.isMountPoint(path)) throw isRoot();
  if (snapshot.table.isProtected(path)) throw new AppError('FAILED_PRECONDITION', 'permission denied');
}

export function nameTaken(name: EntryName | undefined): AppError {
  return new AppError('ENTRY_EXISTS', `file [${name ?? ''}] exists`);
}

/** Of what is tried again, and was to replace a file: somebody may have stored another one after it was done for the first time. To try once more changes nothing. */
export function savedMeanwhile(name: EntryName | undefined): AppError {
  return ownRefusal(
    'ENTRY_EXISTS',
    `file [${name ?? ''}] was saved by somebody since it was to be replaced: it stays. Begin anew to replace it`,
  );
}

export function unsupported(): AppError {
  return new AppError('UNSUPPORTED_OPERATION', 'not implement');
}
