import { type BatchRename, batchRename as renameInBatch } from '../../domain/changing/operations/batch-rename.ts';
import type { Operation } from '../../domain/changing/operations/operation.ts';
import { placeEntries } from '../../domain/changing/operations/place-entries.ts';
import type { Item, Placement } from '../../domain/changing/operations/plan-placement.ts';
import { type RecursiveMove, recursiveMove } from '../../domain/changing/operations/recursive-move.ts';
import { resolvePath } from '../../domain/snapshot/snapshot.ts';
import type { PlacementInput, Verb } from '../placement.ts';
import { placementKind } from '../placement-kinds.ts';
import { flatteningTasks, placementTasks, renamingTasks } from '../placement-tasks.ts';
import { type RemovalInput, removalKind } from '../removal-kind.ts';
import { createTestRun, type TestRun } from './test-run.ts';

export const CREATOR = { id: 7, name: 'somebody', role: 0 };

/** Does a task's work within the test, once. */
export async function runPlacement(operation: Operation, verb: Verb, input: PlacementInput, run?: TestRun): Promise<void> {
  const kind = placementKind(verb, async ({ signal }) => ({ ...operation, signal }));
  await kind.run((run ?? createTestRun({ signal: operation.signal })).begin(kind.encodeInput(input)));
}

/** The same of a task that removes. @param operationOf asked before each step; absent: always this operation */
export async function runRemoval(
  operation: Operation,
  input: RemovalInput,
  run?: TestRun,
  operationOf = async () => operation,
): Promise<void> {
  const kind = removalKind(async ({ signal }) => ({ ...(await operationOf()), signal }), 0);
  await kind.run((run ?? createTestRun({ signal: operation.signal })).begin(kind.encodeInput(input)));
}

/** Renames entries of a folder, with the tasks that it takes. @returns how many these were */
export async function batchRename(operation: Operation, request: BatchRename): Promise<number> {
  const queued: Item[] = [];
  await renameInBatch(operation, request, async (items) => void queued.push(...items));
  const [folders, files] = [queued.filter(({ entry }) => entry.isDirectory), queued.filter(({ entry }) => !entry.isDirectory)];
  const tasks = [...placementTasks('move', folders, CREATOR), ...renamingTasks(files, CREATOR)];
  for (const { input } of tasks) await runPlacement(operation, 'move', input);
  return tasks.length;
}

/** Copies or moves entries, with the tasks that it takes. */
async function place(operation: Operation, request: Placement, verb: Verb): Promise<void> {
  const queued: Item[] = [];
  await placeEntries(operation, request, verb, async (items) => {
    queued.push(...items);
  });
  for (const { input } of placementTasks(verb, queued, CREATOR)) await runPlacement(operation, verb, input);
}

export const copyEntries = (operation: Operation, request: Placement): Promise<void> => place(operation, request, 'copy');
export const moveEntries = (operation: Operation, request: Placement): Promise<void> => place(operation, request, 'move');

export async function flatten(operation: Operation, request: RecursiveMove): Promise<number> {
  const queued: Item[] = [];
  const moved = await recursiveMove(operation, request, async (items) => {
    queued.push(...items);
  });
  const source = resolvePath(operation.actor, request.src_dir);
  for (const { input } of flatteningTasks(source, queued, CREATOR)) await runPlacement(operation, 'move', input);
  return moved;
}
