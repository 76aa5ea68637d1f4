import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { childPath, type EntryName, type MountPath, parseEntryName, type VirtualPath } from '@wharf/paths';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import type { Located } from '../mount-table.ts';
import type { Mount } from '../mounts.ts';
import { nameTaken, type Operation, requireUnprotected } from './operation.ts';
import { renameItem } from './place-item.ts';
import type { Item } from './plan-placement.ts';
import type { RenameJournal, RenameStep } from './rename-journal.ts';
import { requireNoGuard } from './require-no-guard.ts';
import { requireNothingHidden } from './require-nothing-hidden.ts';
import { closingSteps, takeBackRenames } from './take-back-renames.ts';

/** One entry of a folder and the name it is to have. */
export interface Renaming {
  readonly entry: Entry;
  readonly name: EntryName;
}

/** The folder whose entries get other names, and what is in it. */
export interface RenamedFolder {
  readonly path: VirtualPath;
  readonly located: Located<Mount>;
  /** What has a name in it; undefined when it is free. */
  find(name: EntryName): Promise<Entry | undefined>;
}

interface Step extends RenameStep {
  readonly entry: Entry;
}

/** Bytes that `.renaming-` and eight hexadecimal digits take. */
const TEMP_MARK_BYTES = 18;

/**
 * Gives several entries of one folder other names, all of them or none. Everything is checked before the first name changes. Names may
 * swap, or follow one another: each step goes to a name that is free by then, and a circle is opened by one temporary name,
 * `<name>.renaming-<8 hex digits>`. After a failure everything gets its old name back. So it does when the process dies in the middle, or the
 * storage is away: the journal has what is to be done then. Whoever looks meanwhile may see some names changed.
 *
 * @throws AppError ENTRY_EXISTS | PERMISSION_DENIED | FAILED_PRECONDITION (a mount point) | INVALID_ARGUMENT (too many names) | STALE_VERSION (it
 * took so long that another process took it for dead)
 */
export async function renameAll(
  operation: Operation,
  journal: RenameJournal,
  folder: RenamedFolder,
  renamings: readonly Renaming[],
): Promise<void> {
  const steps = inOrder(await checkedRenamings(operation, folder, renamings));
  if (steps.length === 0) return;
  const closes = closingSteps(steps);
  const entry = await journal.begin({ storageId: folder.located.mount.storage._id, folder: folder.path, steps });
  try {
    for (const [index, step] of steps.entries()) {
      if (closes.has(index)) await entry.noteClosing(index);
      entry.requireHeld();
      await renameItem(operation, itemOf(folder, step));
    }
    await entry.end();
  } catch (error) {
    try {
      // Whoever called may be gone; what he began is put right all the same.
      await takeBackRenames({ ...operation, signal: new AbortController().signal }, entry.renames);
    } catch {
      await entry.leave();
      const { code, message } = AppError.from(error);
      throw new AppError(code, `${message}; what has another name already gets its own back later`, { cause: error });
    }
    // An entry that stays is taken back once more, which changes nothing.
    await entry.end().catch(() => entry.leave());
    throw error;
  }
}

/** The renamings that change something, each checked against the rules and against the others. */
async function checkedRenamings(operation: Operation, folder: RenamedFolder, renamings: readonly Renaming[]): Promise<Step[]> {
  const { tree, actor } = operation;
  const leaving = new Set(renamings.map(({ entry }) => entry.name));
  const targets = new Set<EntryName>();
  const steps: Step[] = [];
  for (const { entry, name } of renamings) {
    if (targets.has(name)) throw nameTaken(name);
    targets.add(name);
    const source = childPath(folder.path, entry.name);
    requireUnprotected(tree, actor, source, 'rename');
    tree.rules.requireEntry(actor, source, 'write');
    if (entry.name === name) continue;
    requireNoGuard(operation, source);
    const target = childPath(folder.path, name);
    tree.rules.requireEntry(actor, target, 'create');
    if (tree.table.isProtected(target) || (!leaving.has(name) && (await folder.find(name)))) throw nameTaken(name);
    await requireNothingHidden(operation, { entry, path: source, located: placeIn(folder, entry.name), target });
    steps.push({ entry, from: entry.name, to: name });
  }
  return steps;
}

/** Orders steps so that each finds its target free: whoever sits there has left, to a temporary name where they form a circle. */
function inOrder(steps: readonly Step[]): Step[] {
  const byTarget = new Map(steps.map((step) => [step.to, step]));
  const sources = new Set(steps.map((step) => step.from));
  const ordered: Step[] = [];
  const followers = (first: Step, end?: Step): void => {
    for (let step = byTarget.get(first.from); step && step !== end; step = byTarget.get(step.from)) {
      ordered.push(step);
      byTarget.delete(step.to);
    }
  };
  for (const step of steps) {
    if (sources.has(step.to)) continue;
    ordered.push(step);
    byTarget.delete(step.to);
    followers(step);
  }
  for (const step of steps) {
    if (byTarget.get(step.to) !== step) continue;
    const aside = temporaryName(step.from);
    ordered.push({ ...step, to: aside });
    followers(step, step);
    ordered.push({ ...step, from: aside });
    byTarget.delete(step.to);
  }
  return ordered;
}

/** A name nobody else has, which tells the one it stands for. */
function temporaryName(name: EntryName): EntryName {
  let kept: string = name;
  while (Buffer.byteLength(kept) > 255 - TEMP_MARK_BYTES) kept = [...kept].slice(0, -1).join('');
  return parseEntryName(`${kept}.renaming-${randomBytes(4).toString('hex')}`);
}

function itemOf(folder: RenamedFolder, { entry, from, to }: Step): Item {
  return {
    entry,
    source: childPath(folder.path, from),
    target: childPath(folder.path, to),
    from: placeIn(folder, from),
    to: placeIn(folder, to),
    conflict: 'refuse',
  };
}

function placeIn({ located }: RenamedFolder, name: EntryName): Located<Mount> {
  return { ...located, path: childPath<MountPath>(located.path, name) };
}
