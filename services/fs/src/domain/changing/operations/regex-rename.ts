import { AppError } from '@wharf/errors';
import { createPace, giveWay } from '@wharf/pace';
import { parseEntryName } from '@wharf/paths';
import { type EntryMap, takeEntries } from '../../../driver-contract/entry-map.ts';
import { requirePermission } from '../../access/permissions.ts';
import type { Located } from '../../mounts/mount-table.ts';
import type { Mount } from '../../mounts/mounts.ts';
import { locate, resolvePath } from '../../snapshot/snapshot.ts';
import { callerOf, callOf, type Operation, open, requireWrite } from './operation.ts';
import type { QueueItems } from './place-entries.ts';
import { PLAN_BYTES, PLANS, type PlanShare } from './plan-room.ts';
import { type Renaming, renameAll } from './rename-plan.ts';
import { compileRename } from './rename-template.ts';
import { rightsOfNow } from './rights-of-now.ts';

export interface RegexRename {
  readonly src_dir: string;
  /** RE2. */
  readonly src_name_regex: string;
  /** A template, see compileRename(). */
  readonly new_name_regex: string;
}

/**
 * Renames every entry of a folder that the caller sees and whose name matches, all of them or none.
 *
 * @param queue as of renameAll(). @param enter the room for the plan; another one is given by tests only
 * @throws as renameAll(), and FAILED_PRECONDITION (no pattern, or too many entries) | OVERLOADED | UNSAFE_PATH (a result that is no name)
 */
export async function regexRename(operation: Operation, request: RegexRename, queue?: QueueItems, enter = PLANS): Promise<void> {
  const share = enter(callerOf(operation));
  try {
    await renameMatching(operation, request, share, queue);
  } finally {
    share.leave();
  }
}

async function renameMatching(operation: Operation, request: RegexRename, share: PlanShare, queue: QueueItems | undefined): Promise<void> {
  const { snapshot, actor } = operation;
  requirePermission(actor, 'rename');
  const path = resolvePath(actor, request.src_dir);
  const now = rightsOfNow(operation, [path]);
  requireWrite(snapshot, actor, path);
  snapshot.rules.requireAccess(actor, path, '');
  // Others who rename by pattern may have theirs compiled in this very turn.
  const room = giveWay();
  if (room) await room;
  const renamed = compileRename(request.src_name_regex, request.new_name_regex);
  const located = locate(snapshot, path);
  const entries = await entriesOf(operation, located, share);
  const isVisible = snapshot.rules.listingFilter(actor, path);
  const renamings: Renaming[] = [];
  // A pattern may cost some milliseconds for each name: others get their turn in between.
  const pace = createPace(operation.signal);
  for (const entry of entries.values()) {
    const name = isVisible && !isVisible(entry.name, entry.isDirectory) ? undefined : await renamed(entry.name, pace);
    if (name !== undefined) {
      share.take(PLAN_BYTES.placed(path.length + entry.name.length, path.length + name.length));
      renamings.push({ entry, name: parseEntryName(name) });
    }
    await pace.step();
  }
  await renameAll(operation, now, { path, located, find: async (name) => entries.get(name) }, renamings, queue);
}

async function entriesOf(operation: Operation, located: Located<Mount>, share: PlanShare): Promise<EntryMap> {
  const { driver, path: place } = await open(located);
  try {
    return await takeEntries(driver.list(place, { ...callOf(operation), beforeNames: share.take }), ({ name }) =>
      share.take(PLAN_BYTES.listed(name.length)),
    );
  } catch (error) {
    if (AppError.is(error, 'NOT_A_DIRECTORY')) throw new AppError('NOT_A_DIRECTORY', 'not a folder', { cause: error });
    throw error;
  }
}
