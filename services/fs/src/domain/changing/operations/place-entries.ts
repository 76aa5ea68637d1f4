import { createPace } from '@wharf/pace';
import { requirePermission } from '../../access/permissions.ts';
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
  await placeItems(operation, await planPlacement(operation, request, verb), verb, queue);
}

/** The same for entries that are planned. */
export async function placeItems(operation: Operation, items: readonly Item[], verb: 'move' | 'copy', queue: QueueItems): Promise<void> {
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
