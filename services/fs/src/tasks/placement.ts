import { AppError } from '@wharf/errors';
import {
  baseName,
  childPath,
  type EntryName,
  isWithin,
  type MountPath,
  parentPath,
  parseEntryName,
  parseVirtualPath,
  relativeTo,
  type VirtualPath,
} from '@wharf/paths';
import { z } from 'zod';
import { denied, requirePermission } from '../domain/access/permissions.ts';
import type { TargetDriver } from '../domain/changing/copy-file.ts';
import { type Operation, requireWrite } from '../domain/changing/operations/operation.ts';
import { requireNoGuard } from '../domain/changing/operations/require-no-guard.ts';
import type { Located } from '../domain/mounts/mount-table.ts';
import type { Mount } from '../domain/mounts/mounts.ts';
import { locateIn } from '../domain/snapshot/snapshot.ts';
import { type StorageDriver, supports } from '../driver-contract/storage-driver.ts';

export type Verb = 'copy' | 'move';

/** What a task of the kinds copy and move is to do. */
export const placementShape = z.object({
  /** The entry, or with `files` the folder that they are in, as a full path of the tree. */
  source: z.string(),
  /** The entry's new place, or with `files` the folder that takes them. */
  target: z.string(),
  /** Ids of the storages that were chosen when the task was planned. */
  sourceStorage: z.number().int(),
  targetStorage: z.number().int(),
  /** About a file that is at the target already. */
  conflict: z.enum(['replace', 'keep', 'refuse']),
  /** Paths below the source: each of these files goes directly into the target. */
  files: z.array(z.string()).optional(),
  /** What these files are called there, in the same order. Absent: what they are called here. */
  names: z.array(z.string()).optional(),
});
export type PlacementInput = z.output<typeof placementShape>;

/** One end of a transfer: a place of the tree. */
interface PlannedEnd {
  readonly path: VirtualPath;
  readonly located: Located<Mount>;
}

/** The rights and rules of the moment, which let the transfer go on. */
export interface PlacementRights {
  readonly verb: Verb;
  readonly operation: Operation;
  readonly from: PlannedEnd;
  readonly to: PlannedEnd;
}

/** The same in a storage that is open. */
export interface PlacementEnd extends PlannedEnd {
  readonly driver: StorageDriver;
}

/** Both ends, and the rights and rules of the moment. */
export interface PlacementEnds extends PlacementRights {
  readonly from: PlacementEnd;
  readonly to: PlacementEnd & { readonly driver: TargetDriver };
  /** Other names that files get, by their paths. */
  readonly names: ReadonlyMap<string, EntryName> | undefined;
}

/**
 * Asks again for everything that was asked when the task was planned. No storage is waited for.
 *
 * @throws AppError PERMISSION_DENIED | MOUNT_NOT_FOUND (a storage went)
 */
export function rightsFor(operation: Operation, input: PlacementInput, verb: Verb): PlacementRights {
  const { snapshot, actor } = operation;
  const [source, target] = [parseVirtualPath(input.source), parseVirtualPath(input.target)];
  // A move within one folder is a rename that takes long.
  const isRename = verb === 'move' && (input.files ? input.names !== undefined : parentPath(source) === parentPath(target));
  requirePermission(actor, isRename ? 'rename' : verb);
  if (!isWithin(actor.basePath, source) || !isWithin(actor.basePath, target)) throw denied();
  const [sourceFolder, targetFolder] = input.files ? [source, target] : [parentPath(source), parentPath(target)];
  if (!isRename) snapshot.rules.requireAccess(actor, sourceFolder, '');
  if (verb === 'move') requireWrite(snapshot, actor, sourceFolder);
  requireWrite(snapshot, actor, targetFolder);
  if (!input.files && !snapshot.rules.mayTouch(actor, source, verb === 'move' ? 'write' : 'read')) throw denied();
  if (!input.files && verb === 'move') requireNoGuard(operation, source);

  const from = { path: source, located: locateIn(snapshot, source, input.sourceStorage) };
  const to = { path: target, located: locateIn(snapshot, target, input.targetStorage) };
  return { verb, operation, from, to };
}

/** Opens both ends. @throws AppError UNSUPPORTED_OPERATION | STORAGE_UNAVAILABLE */
export async function openEnds({ verb, operation, ...ends }: PlacementRights, input: PlacementInput): Promise<PlacementEnds> {
  const from = await openEnd(ends.from);
  const to = await openEnd(ends.to);
  const { driver } = to;
  if (!supports(driver, 'write') || !supports(driver, 'makeDirectory')) throw new AppError('UNSUPPORTED_OPERATION', 'not support');
  if (verb === 'move' && !supports(from.driver, 'remove')) throw new AppError('UNSUPPORTED_OPERATION', 'not support');
  const names = input.names && new Map(input.files?.map((path, index) => [path, parseEntryName(input.names?.[index] ?? '')]));
  return { verb, operation, from, to: { ...to, driver }, names };
}

async function openEnd({ path, located }: PlannedEnd): Promise<PlacementEnd> {
  return { path, located, driver: await located.mount.driver() };
}

/**
 * Asks for the rules as they are now about one entry: before it is copied, and before it is removed where it was.
 *
 * @throws AppError PERMISSION_DENIED; FAILED_PRECONDITION for the admin
 */
export function requireRights({ operation, verb }: PlacementRights, { source, target }: ReturnType<typeof placesOf>): void {
  const { actor, snapshot } = operation;
  if (snapshot.rules.records.length === 0) return;
  if (!snapshot.rules.mayTouch(actor, source, verb === 'move' ? 'write' : 'read')) throw denied();
  if (!snapshot.rules.mayTouch(actor, target, 'create')) throw denied();
  if (verb === 'move') requireNoGuard(operation, source);
}

/** Where an entry below the source lies, and where it goes; a `path` is empty for the source itself. */
export function placesOf({ from, to, names }: PlacementEnds, input: PlacementInput, path: string) {
  const source = below(from.path, path);
  const name = names?.get(path) ?? baseName(source);
  const target = input.files ? (name === undefined ? to.path : childPath(to.path, name)) : below(to.path, path);
  return {
    source,
    target,
    sourcePlace: relativeTo(from.located.mountedAt, source),
    targetPlace: relativeTo(to.located.mountedAt, target),
  };
}

/** The path of an entry below a place that is the root of a walk. */
export function below<P extends VirtualPath | MountPath>(root: P, path: string): P {
  if (path === '') return root;
  return (root === '/' ? path : root + path) as P;
}
