import { createPace } from '@wharf/pace';
import { requirePermission } from '../../access/permissions.ts';
import { resolvePath } from '../../snapshot/snapshot.ts';
import type { Operation } from './operation.ts';
import { placeInOneStep } from './place-item.ts';
import { type Item, type Placement, planPlacement } from './plan-placement.ts';

/** Takes over what no storage can do in one step. */
export type QueueItems = (items: readonly Item[]) => Promise<void>;

/**
 * Moves or copies entries into another folder of any storage. Everything is checked before the first one is touched; what its storage does
 * in one step is done when this resolves, the rest is queued. A failure leaves what was done or queued before it.
 */
export async function placeEntries(operation: Operation, request: Placement, verb: 'move' | 'copy', queue: QueueItems): Promise<void> {
  requirePermission(operation.actor, verb);
  const items = await planPlacement(operation, request, verb);
  if (verb === 'copy') await placeItems(operation, items, verb, queue);
  else await moveItems(operation, [request.src_dir, request.dst_dir], items, queue);
}

/** Moves entries that are planned. @param folders what they come from and go to, as the caller names it */
export function moveItems(operation: Operation, folders: readonly string[], items: readonly Item[], queue: QueueItems): Promise<void> {
  const { snapshot, actor } = operation;
  const paths = folders.map((folder) => resolvePath(actor, folder));
  return snapshot.quotas.relocating(paths, () => placeItems(operation, items, 'move', queue));
}

async function placeItems(operation: Operation, items: readonly Item[], verb: 'move' | 'copy', queue: QueueItems): Promise<void> {
  const left: Item[] = [];
  try {
    const pace = createPace(operation.signal);
    for (const item of items) {
      await pace.step();
      if (!(await placeInOneStep(operation, item, verb))) left.push(item);
    }
  } finally {
    if (left.length > 0) await queue(left);
  }
}
