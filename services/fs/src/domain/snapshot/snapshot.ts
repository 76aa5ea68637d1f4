import { AppError } from '@wharf/errors';
import type { Settings } from '@wharf/models';
import { isWithin, joinPath, parseVirtualPath, relativeTo, type VirtualPath } from '@wharf/paths';
import type { LinkSigner } from '../access/link-signer.ts';
import type { Actor } from '../access/permissions.ts';
import type { RuleBook } from '../access/rule-book.ts';
import type { Located, MountTable } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import type { Quotas } from '../quota/quota.ts';

/** The configuration that one operation works under, from its beginning to its end. */
export interface Snapshot {
  readonly table: MountTable<Mount>;
  readonly rules: RuleBook;
  readonly settings: Settings;
  readonly signer: LinkSigner;
  readonly quotas: Quotas;
}

/** Where the family keeps shares; this version has none. */
const SHARE_ROOT = '/@s';

/** The full path that a caller means by `raw`. @throws AppError UNSAFE_PATH | INVALID_ARGUMENT | RECORD_NOT_FOUND (a share) */
export function resolvePath(actor: Actor, raw: string): VirtualPath {
  const request = parseVirtualPath(raw);
  if (request === SHARE_ROOT || request.startsWith(`${SHARE_ROOT}/`)) throw new AppError('RECORD_NOT_FOUND', 'the share does not exist');
  return joinPath(actor.basePath, request);
}

/** A path as its caller names it; of one outside of the base path, all of it. */
export function shownPath({ basePath }: Actor, path: VirtualPath): string {
  return isWithin(basePath, path) ? relativeTo(basePath, path) : path;
}

/** The storage that covers a path, the one of `beside` where both are mounted at one place. @throws AppError MOUNT_NOT_FOUND */
export function locate(snapshot: Snapshot, path: VirtualPath, beside?: Located<Mount>): Located<Mount> {
  const located = snapshot.table.locate(path, beside);
  if (located) return located;
  const hint = path === '/' && snapshot.table.isEmpty ? 'please add a storage first' : `rawPath: ${path}`;
  throw new AppError('MOUNT_NOT_FOUND', `failed get storage: storage not found; ${hint}`);
}

/** The storage of this id, which covers the path. @throws AppError MOUNT_NOT_FOUND: it is gone, or another one covers the path now */
export function locateIn({ table }: Snapshot, path: VirtualPath, storage: number): Located<Mount> {
  const known = table.mounts.find(({ mountedAt, mount }) => mount.storage._id === storage && isWithin(mountedAt, path));
  const located = known && table.locate(path, { ...known, path: relativeTo(known.mountedAt, path) });
  if (!located || located.mount !== known.mount)
    throw new AppError('MOUNT_NOT_FOUND', `failed get storage: storage not found; rawPath: ${path}`);
  return located;
}
