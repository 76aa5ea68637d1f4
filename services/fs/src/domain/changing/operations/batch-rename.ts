import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import { childPath, type EntryName, type MountPath, parseEntryName, type VirtualPath } from '@wharf/paths';
import { requirePermission } from '../../access/permissions.ts';
import { findEntry } from '../../reading/get-entry.ts';
import { locate, resolvePath } from '../../snapshot/snapshot.ts';
import { callerOf, callOf, type Operation, requireWrite } from './operation.ts';
import type { QueueItems } from './place-entries.ts';
import { PLAN_BYTES, PLANS } from './plan-room.ts';
import { type RenamedFolder, type Renaming, renameAll } from './rename-plan.ts';
import { type RightsOfNow, rightsOfNow } from './rights-of-now.ts';

export interface BatchRename {
  readonly src_dir: string;
  /** One whose old or new name is empty is passed over. */
  readonly rename_objects: readonly { readonly src_name: string; readonly new_name: string }[];
}

/** More in one request would keep others waiting. */
const MAX_RENAMES = 10_000;

/**
 * Gives entries of one folder other names, all of them or none; they may swap.
 *
 * @param queue as of renameAll(). @param enter the room for the plan; another one is given by tests only
 * @throws as renameAll(), and ENTRY_NOT_FOUND | UNSAFE_PATH | FAILED_PRECONDITION (too many for one request) | OVERLOADED, beside others
 */
export async function batchRename(operation: Operation, request: BatchRename, queue?: QueueItems, enter = PLANS): Promise<void> {
  const { snapshot, actor } = operation;
  requirePermission(actor, 'rename');
  const path = resolvePath(actor, request.src_dir);
  requireWrite(snapshot, actor, path);
  const now = rightsOfNow(operation, [path]);
  const wanted = wantedNames(request.rename_objects);
  if (wanted.size === 0) return;
  const share = enter(callerOf(operation));
  try {
    for (const [source, name] of wanted) share.take(PLAN_BYTES.placed(path.length + source.length, path.length + name.length));
    await renameWanted(operation, now, path, wanted, queue);
  } finally {
    share.leave();
  }
}

async function renameWanted(
  operation: Operation,
  now: RightsOfNow,
  path: VirtualPath,
  wanted: ReadonlyMap<EntryName, EntryName>,
  queue: QueueItems | undefined,
): Promise<void> {
  const { snapshot, actor, signal } = operation;
  const located = locate(snapshot, path);
  const folder: RenamedFolder = {
    path,
    located,
    find: (name) =>
      findEntry(snapshot, childPath(path, name), { ...located, path: childPath<MountPath>(located.path, name) }, callOf(operation)),
  };
  const renamings: Renaming[] = [];
  const pace = createPace(signal);
  for (const [source, name] of wanted) {
    await pace.step();
    // Who may not touch it does not learn whether it is there.
    snapshot.rules.requireEntry(actor, childPath(path, source), 'write');
    const entry = await folder.find(source);
    if (!entry) throw new AppError('ENTRY_NOT_FOUND', 'object not found');
    renamings.push({ entry: { ...entry, name: source }, name });
  }
  await renameAll(operation, now, folder, renamings, queue);
}

function wantedNames(objects: BatchRename['rename_objects']): Map<EntryName, EntryName> {
  const wanted = new Map<EntryName, EntryName>();
  for (const { src_name, new_name } of objects) {
    if (src_name === '' || new_name === '') continue;
    const [source, name] = [parseEntryName(src_name), parseEntryName(new_name)];
    const known = wanted.get(source);
    if (known !== undefined && known !== name) throw new AppError('INVALID_ARGUMENT', `[${source}] is given two new names`);
    wanted.set(source, name);
  }
  if (wanted.size > MAX_RENAMES) throw new AppError('INVALID_ARGUMENT', `no more than ${MAX_RENAMES} at once`);
  return wanted;
}
