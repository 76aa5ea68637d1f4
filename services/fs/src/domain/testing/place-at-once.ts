import { AppError } from '@wharf/errors';
import type { Operation } from '../changing/operations/operation.ts';
import { placeEntries } from '../changing/operations/place-entries.ts';
import type { Placement } from '../changing/operations/plan-placement.ts';

/** Copies what its storage copies in one step; anything else fails the test. */
export const copyEntries = (operation: Operation, request: Placement): Promise<void> =>
  placeEntries(operation, request, 'copy', neverQueued);

/** Moves what its storage moves in one step; anything else fails the test. */
export const moveEntries = (operation: Operation, request: Placement): Promise<void> =>
  placeEntries(operation, request, 'move', neverQueued);

async function neverQueued(): Promise<void> {
  throw new AppError('UNSUPPORTED_OPERATION', 'it was not done in one step');
}
