import { AppError } from '@wharf/errors';
import { childPath, type EntryName, type MountPath } from '@wharf/paths';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import type { Located } from '../mount-table.ts';
import type { Mount } from '../mounts.ts';
import { NOBODY } from '../permissions.ts';
import { locateIn } from '../tree.ts';
import { type Operation, open } from './operation.ts';
import { renameItem } from './place-item.ts';
import type { JournaledRenames, RenameJournal, RenameStep } from './rename-journal.ts';

/** What could not be taken back is tried again after so long, and given up after so long, in milliseconds. */
const TRY_AGAIN_MS = 60_000;
const GIVE_UP_MS = 86_400_000;

/** What is in a folder of a storage, by name. */
export async function entriesIn({ signal }: Pick<Operation, 'signal'>, located: Located<Mount>): Promise<Map<EntryName, Entry>> {
  const { driver, path } = await open(located);
  const entries = new Map<EntryName, Entry>();
  for await (const entry of driver.list(path, { signal })) entries.set(entry.name, entry);
  return entries;
}

/** Indexes of the steps that close a circle: they go from a name that an earlier step made. */
export function closingSteps(steps: readonly RenameStep[]): ReadonlySet<number> {
  const made = new Set<EntryName>();
  const closing = new Set<number>();
  for (const [index, { from, to }] of steps.entries()) {
    if (made.has(from)) closing.add(index);
    made.add(to);
  }
  return closing;
}

/**
 * Gives entries the names back that they had before the first step, however many steps were done.
 *
 * Each name is left once only, so a step was done when its old name is free, once all later steps have been taken back. Of a step that closes a
 * circle the journal has to tell as well: before the circle began its old name, the temporary one, was free too.
 *
 * @throws what the storage throws; a later call goes on
 */
export async function takeBackRenames(operation: Operation, { folder, storageId, steps, closing }: JournaledRenames): Promise<void> {
  const located = locateIn(operation.tree, folder, storageId);
  const entries = await entriesIn(operation, located).catch((error) => {
    if (AppError.is(error, 'ENTRY_NOT_FOUND') || AppError.is(error, 'NOT_A_DIRECTORY')) return new Map<EntryName, Entry>();
    throw error;
  });
  const closes = closingSteps(steps);
  for (const [index, { from, to }] of [...steps.entries()].toReversed()) {
    const entry = entries.get(to);
    if (!entry || entries.has(from) || (closes.has(index) && index > closing)) continue;
    await renameItem(operation, {
      entry,
      source: childPath(folder, to),
      target: childPath(folder, from),
      from: { ...located, path: childPath<MountPath>(located.path, to) },
      to: { ...located, path: childPath<MountPath>(located.path, from) },
      conflict: 'refuse',
    });
    entries.delete(to);
    entries.set(from, { ...entry, name: from });
  }
}

/**
 * Takes back what processes that died have left half done.
 * @param options.before see {@link RenameJournal.takeAbandoned}. @param options.onError what could not be taken back yet, or not at all
 */
export async function recoverRenames(
  journal: RenameJournal,
  options: {
    readonly frame: () => Promise<Pick<Operation, 'tree' | 'changes'>>;
    readonly clock: () => number;
    readonly before?: Date | undefined;
    readonly onError: (error: unknown, renames: JournaledRenames) => void;
  },
): Promise<void> {
  for (let entry = await journal.takeAbandoned(options.before); entry; entry = await journal.takeAbandoned(options.before)) {
    const { renames } = entry;
    try {
      // Nobody's rights are asked for: somebody who had them began it.
      const operation = { ...(await options.frame()), actor: NOBODY, signal: new AbortController().signal };
      await takeBackRenames(operation, renames);
      await entry.end();
    } catch (error) {
      options.onError(error, renames);
      if (options.clock() - renames.createdAt.getTime() < GIVE_UP_MS) await entry.leave(TRY_AGAIN_MS);
      else await entry.end();
    }
  }
}
