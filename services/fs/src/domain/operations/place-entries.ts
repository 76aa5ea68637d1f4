import { PERMISSION, requirePermission } from '../permissions.ts';
import type { Operation } from './operation.ts';
import { copyItem, moveItem } from './place-item.ts';
import { type Placement, planPlacement } from './plan-placement.ts';

/** Moves entries into another folder of any storage. Everything is checked before the first one moves. */
export async function moveEntries(operation: Operation, request: Placement): Promise<void> {
  requirePermission(operation.actor, PERMISSION.move);
  for (const item of await planPlacement(operation, request, 'move')) await moveItem(operation, item);
}

/** Copies entries into another folder of any storage. Everything is checked before the first one is copied. */
export async function copyEntries(operation: Operation, request: Placement): Promise<void> {
  requirePermission(operation.actor, PERMISSION.copy);
  for (const item of await planPlacement(operation, request, 'copy')) await copyItem(operation, item);
}
