import { parseVirtualPath, type VirtualPath } from '@wharf/paths';
import { defineTaskKind, type TaskKind } from '@wharf/task-engine';
import type { Operation } from '../domain/changing/operations/operation.ts';
import { SMALL_BYTES } from '../domain/changing/small-files.ts';
import { relocatedAt } from '../domain/quota/quota.ts';
import { copyEntries, WINDOW } from './copy-entries.ts';
import { withCopyRoom } from './copy-room.ts';
import { listSource } from './list-source.ts';
import { manifestChunk, type TakeRoom } from './manifest.ts';
import { type PlacementInput, placementShape, type Verb } from './placement.ts';
import { beginPlacement, FIRST, type PlacementRun, type PlacementTaskRun, placementCheckpoint } from './placement-run.ts';
import { removeSources } from './remove-sources.ts';
import { untilOpen } from './until-open.ts';

/** Attempts after the first one (docs/api-family.md#attempts). */
const MAX_RETRIES = 2;

/**
 * Copies or moves an entry, a folder with all it holds, or a list of files from one place to another: first everything is written down, then
 * copied, then, of a move, removed where it was. Each phase goes on where the last durable checkpoint says.
 *
 * @param operationOf the frame of a run, with the rights of today. @param takeRoom for what the store holds of it. @param name of the kind, where it is
 * not the list's
 */
export function placementKind(
  verb: Verb,
  operationOf: (run: PlacementTaskRun) => Promise<Operation>,
  takeRoom?: TakeRoom,
  name: string = verb,
): TaskKind<PlacementInput> {
  return defineTaskKind({
    name,
    list: verb,
    input: placementShape,
    checkpoint: placementCheckpoint,
    chunk: manifestChunk,
    maxRetries: MAX_RETRIES,
    smallBytes: SMALL_BYTES,
    async run(run) {
      const placement = await beginPlacement(run, verb, operationOf, takeRoom);
      const [source, target] = placesOfRun(placement);
      const changed = verb === 'move' ? [source, target] : [target];
      let isDone = false;
      try {
        await place(placement);
        isDone = true;
      } finally {
        placement.tell(isDone, ...changed);
      }
    },
  });
}

async function place(placement: PlacementRun): Promise<void> {
  const { run, state } = placement;
  // Before anything else: may the user still do this, and are both storages there?
  await untilOpen(run, () => placement.ends());
  if (state.phase === 'listing') {
    await listSource(placement);
    await enterCopying(placement);
  }
  if (state.phase === 'copying') {
    run.progress({ status: 'uploading', phase: 'copying', totalBytes: state.totalBytes });
    const { operation } = await placement.ends();
    // A move leaves as much as there was, unless it fails.
    if (placement.verb === 'move') await countedIfFailed(placement, () => copyEntries(placement));
    else
      await withCopyRoom(operation, state.totalBytes - state.doneBytes, (room) => {
        placement.room = room;
        return copyEntries(placement);
      });
    if (placement.verb === 'copy') return;
    await enterRemoving(placement);
  }
  const { operation } = await placement.ends();
  // Up to here everything is where it was, at least.
  const remove = () => operation.snapshot.quotas.relocating(relocatedAt(...placesOfRun(placement)), () => removeSources(placement));
  await countedIfFailed(placement, remove);
}

/** What was copied and not removed is in two places. */
async function countedIfFailed(placement: PlacementRun, work: () => Promise<void>): Promise<void> {
  const { operation } = await placement.ends();
  try {
    await work();
  } catch (error) {
    await operation.snapshot.quotas.uncounted(placesOfRun(placement), placement.state.doneBytes);
    throw error;
  }
}

function placesOfRun({ run: { input } }: PlacementRun): [source: VirtualPath, target: VirtualPath] {
  return [parseVirtualPath(input.source), parseVirtualPath(input.target)];
}

/**
 * Begins to copy. Whoever goes on must know that entries may be there already: a checkpoint says so. For the copy of a single entry the
 * number of the attempt does.
 */
async function enterCopying(placement: PlacementRun): Promise<void> {
  const { verb, state, run, save } = placement;
  Object.assign(state, { phase: 'copying', next: FIRST, begunBefore: WINDOW });
  const isSingle = verb === 'copy' && state.totalEntries <= 1;
  if (!isSingle) await save(true);
  placement.hasBegunCopying = !isSingle || run.attempt === 1;
}

async function enterRemoving({ state, save }: PlacementRun): Promise<void> {
  Object.assign(state, { phase: 'removing', next: FIRST, begunBefore: 0 });
  await save(true);
}
