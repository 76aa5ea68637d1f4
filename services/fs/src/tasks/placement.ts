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

/** One end of a transfer: a place of the tree in a storage that is open. */
export interface PlacementEnd {
  readonly path: VirtualPath;
  readonly located: Located<Mount>;
  readonly driver: StorageDriver;
}

/** Both ends, and the rights and rules of the moment. */
export interface PlacementEnds {
  readonly verb: Verb;
  readonly operation: Operation;
  readonly from: PlacementEnd;
  readonly to: PlacementEnd & { readonly driver: TargetDriver };
  /** Other names that files get, by their paths. */
  readonly names: ReadonlyMap<string, EntryName> | undefined;
}

/**
 * Asks again for everything that was asked when the task was planned, and opens both ends.
 *
 * @throws AppError PERMISSION_DENIED | MOUNT_NOT_FOUND (a storage went) | UNSUPPORTED_OPERATION | STORAGE_UNAVAILABLE
 */
export async function openEnds(operation: Operation, input: PlacementInput, verb: Verb): Promise<PlacementEnds> {
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

  const from = await openEnd(operation, source, input.sourceStorage);
  const to = await openEnd(operation, target, input.targetStorage);
  const { driver } = to;
  if (!supports(driver, 'write') || !supports(driver, 'makeDirectory')) throw new AppError('UNSUPPORTED_OPERATION', 'not support');
  if (verb === 'move' && !supports(from.driver, 'remove')) throw new AppError('UNSUPPORTED_OPERATION', 'not support');
  const names = input.names && new Map(input.files?.map((path, index) => [path, parseEntryName(input.names?.[index] ?? '')]));
  return { verb, operation, from, to: { ...to, driver }, names };
}

async function openEnd({ snapshot }: Operation, path: VirtualPath, storage: number): Promise<PlacementEnd> {
  const located = locateIn(snapshot, path, storage);
  return { path, located, driver: await located.mount.driver() };
}

/**
 * Asks for the rules as they are now about one entry: before it is copied, and before it is removed where it was.
 *
 * @throws AppError PERMISSION_DENIED; FAILED_PRECONDITION for the admin
 */
export function requireRights({ operation, verb }: PlacementEnds, { source, target }: ReturnType<typeof placesOf>): void {
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
