import { AppError } from '@wharf/errors';
import { childPath, isWithin, parseEntryName, parseVirtualPath, type VirtualPath } from '@wharf/paths';
import { defineTaskKind, postponed, type TaskKind, type TaskRun } from '@wharf/task-engine';
import { z } from 'zod';
import { denied } from '../domain/access/permissions.ts';
import type { Operation } from '../domain/changing/operations/operation.ts';
import { removeEmptyFoldersIn } from '../domain/changing/operations/remove-empty-directories.ts';
import { type Doomed, removeOne, requireAllSeen, requireRemovable, requireRemoval } from '../domain/changing/operations/remove-entries.ts';
import { mayHideMore, mayHideOther, patiently } from '../domain/changing/operations/rights-of-now.ts';
import { relocatedAt } from '../domain/quota/quota.ts';
import { locateIn } from '../domain/snapshot/snapshot.ts';
import type { RemoveOptions } from '../driver-contract/storage-driver.ts';
import { andMore } from './and-more.ts';
import { sharedFor } from './shared-for.ts';
import { untilOpen } from './until-open.ts';

/** What a task of the kind remove is to do. Paths are of the whole tree. */
export const removalShape = z.union([
  z.object({
    folder: z.string(),
    /**
     * What goes of it, with all it holds: the name, and what the storage is to be given for it, so that only what was there when it was asked for goes. Another
     * form than before, so that a replica of an earlier version, which would remove whatever has the name, does not take it.
     */
    begun: z.array(z.tuple([z.string(), z.string()])),
    /** Id of the storage that was chosen when the task was made. */
    storage: z.number().int(),
  }),
  /** The same of an earlier version: all that has these names goes. */
  z.object({ folder: z.string(), names: z.array(z.string()), storage: z.number().int() }),
  /** All folders below this one that are empty, or become so. */
  z.object({ emptyBelow: z.string() }),
]);
export type RemovalInput = z.output<typeof removalShape>;

const removalCheckpoint = z.object({
  /** How many of the names are done. */
  next: z.number().int(),
  /** Of how many of them something stays that came since, and the first of these. */
  stayed: z.number().int().optional(),
  staying: z.string().optional(),
});
export type RemovalTaskRun = TaskRun<RemovalInput, z.output<typeof removalCheckpoint>, never>;
type EntriesInput = Extract<RemovalInput, { readonly folder: unknown }>;

/** As of copies and moves (docs/api-family.md#attempts). */
const MAX_RETRIES = 2;
/** After so long rights, rules and storages are asked for again, in milliseconds. */
const RIGHTS_MS = 2_000;
/** So often it is told while a folder is taken apart, in milliseconds; and at the end. */
const TELL_MS = 10_000;

/**
 * Removes what its storage has to take apart entry by entry. Whoever goes on removes what is left: a cancel leaves the rest, and so does a failure
 * until the retry.
 *
 * @param operationOf the frame of a run, with the rights of today. @param rightsMs what a test may lower
 */
export function removalKind(operationOf: (run: RemovalTaskRun) => Promise<Operation>, rightsMs = RIGHTS_MS): TaskKind<RemovalInput> {
  return defineTaskKind({
    name: 'remove',
    // Clients of the family know no list of removals.
    list: 'move',
    input: removalShape,
    checkpoint: removalCheckpoint,
    maxRetries: MAX_RETRIES,
    async run(run: RemovalTaskRun) {
      const frame: Frame = {
        run,
        operation: sharedFor(rightsMs, () => patiently(() => operationOf(run), run.signal)),
      };
      run.progress({ status: 'removing', phase: 'removing' });
      const { input } = run;
      if ('emptyBelow' in input) await removeEmpty(frame, parseVirtualPath(input.emptyBelow));
      else await removeNames(frame, input);
    },
  });
}

interface Frame {
  readonly run: RemovalTaskRun;
  /** With the rights and the configuration of a moment ago. */
  readonly operation: () => Promise<Operation>;
}

async function removeEmpty({ run, operation }: Frame, folder: VirtualPath): Promise<void> {
  const inside = async () => {
    const now = await operation();
    requireInside(now, folder);
    return now;
  };
  const located = (await inside()).snapshot.table.locate(folder);
  await untilOpen(run, async () => located?.mount.driver());
  let removed = 0;
  await removeEmptyFoldersIn(inside, folder, async () => {
    run.signal.throwIfAborted();
    await run.assertLease();
    removed += 1;
    run.progress({ status: removedSoFar(removed) });
  });
  run.progress({ status: 'removed' });
}

async function removeNames(frame: Frame, input: EntriesInput): Promise<void> {
  const { run } = frame;
  const doomedNames = 'begun' in input ? input.begun : input.names.map((name) => [name, undefined] as const);
  const folder = parseVirtualPath(input.folder);
  const { mount } = locateIn((await frame.operation()).snapshot, folder, input.storage);
  await untilOpen(run, () => mount.driver());
  let removed = 0;
  let { stayed = 0, staying } = run.checkpoint ?? {};
  let elsewhere: AppError | undefined;
  for (let next = run.checkpoint?.next ?? 0; next < doomedNames.length; next += 1) {
    run.signal.throwIfAborted();
    const [text = '', begun] = doomedNames[next] ?? [];
    const name = parseEntryName(text);
    const path = childPath(folder, name);
    const operation = await frame.operation();
    // Of what was looked through when its removal began, something may have been hidden since.
    const doomed = await checked(operation, input, folder, path);
    await run.assertLease();
    const questions = questionsOf(frame, operation, input, folder, path, (inside) => removedSoFar(removed + inside));
    const remove = () => removeOne(operation, doomed, { ...questions, recursive: true, begun, isPatient: true });
    const isGone = await operation.snapshot.quotas.relocating(relocatedAt(path), remove).catch((error: unknown) => {
      // Of each name a part may lie there: that of a folder of an Alias which shows another place by now. The others go, whatever a retry finds.
      if (begun === undefined || !AppError.is(error, 'FAILED_PRECONDITION')) throw error;
      elsewhere ??= error;
      return true;
    });
    if (!isGone) {
      stayed += 1;
      staying ??= name;
    }
    removed += 1;
    run.progress({ percent: (100 * (next + 1)) / doomedNames.length });
    // At once: whoever goes on must not remove what has been stored anew under the name of something that is gone.
    if (!elsewhere) await run.saveCheckpoint({ next: next + 1, ...(stayed > 0 && { stayed, staying }) });
  }
  if (elsewhere) throw elsewhere;
  run.progress({ status: staying === undefined ? 'removed' : `removed; what came since stays: ${andMore(staying, stayed)}` });
}

/** What is asked on the way: a removal that takes minutes, or waits as long for its turn, ends with the right to it. */
function questionsOf(
  { run, operation: renewed }: Frame,
  begun: Operation,
  input: EntriesInput,
  folder: VirtualPath,
  path: VirtualPath,
  textOf: (removed: number) => string,
): Required<Pick<RemoveOptions, 'afterWaiting' | 'beforeStep'>> {
  let known = begun;
  let toldAtMs = performance.now();
  return {
    /** Its storage is asked nothing: whoever asks this may hold the only session that there is. */
    async afterWaiting() {
      run.signal.throwIfAborted();
      const operation = await renewed();
      await checked(operation, input, folder, path, false);
      if (operation.snapshot.rules.mayHideIn(operation.actor, path) && (await mayHideOther(operation, known)))
        throw postponed('is looked through once more, as there are other rules', RIGHTS_MS);
      await run.assertLease();
    },
    async beforeStep(removed) {
      run.signal.throwIfAborted();
      const operation = await renewed();
      if (operation.snapshot !== known.snapshot || operation.actor !== known.actor) {
        await checked(operation, input, folder, path, mayHideMore(operation, known));
        known = operation;
      }
      await run.assertLease();
      run.progress({ status: textOf(removed) });
      if (performance.now() - toldAtMs < TELL_MS) return;
      toldAtMs = performance.now();
      operation.changes.entryChanged(path);
    },
  };
}

/**
 * Asks again for all that was asked when the task was made.
 *
 * @throws AppError PERMISSION_DENIED | FAILED_PRECONDITION | MOUNT_NOT_FOUND (the storage went)
 */
async function checked(
  operation: Operation,
  { storage }: EntriesInput,
  folder: VirtualPath,
  path: VirtualPath,
  looksInside = true,
): Promise<Doomed> {
  requireInside(operation, folder);
  requireRemoval(operation, folder);
  requireRemovable(operation, path);
  const doomed = { path, located: locateIn(operation.snapshot, path, storage) };
  if (looksInside) await requireAllSeen(operation, doomed);
  return doomed;
}

function requireInside({ actor }: Operation, folder: VirtualPath): void {
  if (!isWithin(actor.basePath, folder)) throw denied();
}

function removedSoFar(entries: number): string {
  return entries === 0 ? 'removing' : `${entries} removed`;
}
