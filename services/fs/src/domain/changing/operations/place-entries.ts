import { createPace } from '@wharf/pace';
import { nameAt, type VirtualPath } from '@wharf/paths';
import { requirePermission } from '../../access/permissions.ts';
import type { Relocated } from '../../quota/quota.ts';
import { resolvePath } from '../../snapshot/snapshot.ts';
import { callerOf, type Operation } from './operation.ts';
import { placeInOneStep } from './place-item.ts';
import { conflictAt, type Item, mayStillPlace, type Placement, planPlacement, requirePlacement } from './plan-placement.ts';
import { PLAN_BYTES, PLANS } from './plan-room.ts';
import { type RightsOfNow, rightsOfNow } from './rights-of-now.ts';

/** Takes over what no storage can do in one step. */
export type QueueItems = (items: readonly Item[]) => Promise<void>;

/**
 * Moves or copies entries into another folder of any storage. Everything is checked before the first one is touched; what its storage does
 * in one step is done when this resolves, the rest is queued. A failure leaves what was done or queued before it.
 *
 * @param enter the room for the plan; another one is given by tests only. @throws AppError FAILED_PRECONDITION (too many for one request) | OVERLOADED, beside others
 */
export async function placeEntries(
  operation: Operation,
  request: Placement,
  verb: 'move' | 'copy',
  queue: QueueItems,
  enter = PLANS,
): Promise<void> {
  requirePermission(operation.actor, verb);
  const from = resolvePath(operation.actor, request.src_dir);
  const to = resolvePath(operation.actor, request.dst_dir);
  const now = rightsOfNow(operation, [from, to]);
  const share = enter(callerOf(operation));
  try {
    for (const { length } of request.names) share.take(PLAN_BYTES.placed(from.length + length, to.length + length));
    const items = await planPlacement(operation, request, verb);
    if (verb === 'copy') await placeItems(operation, now, items, verb, queue);
    else {
      const names = items.map(({ source }) => nameAt(source));
      await moveItems(operation, now, [{ folder: from, names }, goingTo(to, items)], items, queue);
    }
  } finally {
    share.leave();
  }
}

/** As many names as a call may give; a move of all files below a folder may have a million, which are not looked at one by one. */
const MOST_NAMES = 10_000;

/** Where entries that are planned get their names. */
export function goingTo(folder: VirtualPath, items: readonly Item[]): Relocated {
  return { folder, ...(items.length <= MOST_NAMES && { names: items.map(({ target }) => nameAt(target)) }) };
}

/** Moves entries that are planned. @param now from the beginning of the call. @param places what they come from and go to */
export function moveItems(
  operation: Operation,
  now: RightsOfNow,
  places: readonly Relocated[],
  items: readonly Item[],
  queue: QueueItems,
): Promise<void> {
  return operation.snapshot.quotas.relocating(places, () => placeItems(operation, now, items, 'move', queue));
}

async function placeItems(
  operation: Operation,
  now: RightsOfNow,
  items: readonly Item[],
  verb: 'move' | 'copy',
  queue: QueueItems,
): Promise<void> {
  const left: Item[] = [];
  try {
    const pace = createPace(operation.signal);
    for (const item of items) {
      await pace.step();
      const current = await mayStillPlace(operation, now, item, verb);
      const isPlanned = current === operation || item.conflict !== 'replace';
      const allowed = isPlanned ? item : { ...item, conflict: conflictAt(current, item.target) };
      const requireStill = (later: Operation) => requirePlacement(later, item, verb);
      if (!(await placeInOneStep(current, allowed, verb, requireStill))) left.push(item);
    }
  } finally {
    if (left.length > 0) await queue(left);
  }
}
