import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import { baseName, childPath, type EntryName, type MountPath, parentPath, parseEntryName, type VirtualPath } from '@wharf/paths';
import type { DriverTraits, Entry } from '../../../driver-contract/storage-driver.ts';
import { isOtherEntry } from '../../../driver-contract/unchanged.ts';
import { denied, requirePermission } from '../../access/permissions.ts';
import type { Located } from '../../mounts/mount-table.ts';
import type { Mount } from '../../mounts/mounts.ts';
import { hasMore } from './has-more.ts';
import { callOf, nameTaken, type Operation, open, requireUnprotected, requireWrite } from './operation.ts';
import type { QueueItems } from './place-entries.ts';
import { LARGE_ENTRIES, mayGoWhole, placeInOneStep, renameItem, type WhileRenamed } from './place-item.ts';
import { conflictAt, type Item } from './plan-placement.ts';
import { requireNoGuard } from './require-no-guard.ts';
import { requireNothingHidden } from './require-nothing-hidden.ts';
import { type RightsOfNow, stillAllowed } from './rights-of-now.ts';

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

/** A name that goes from one to another. */
interface Step {
  readonly entry: Entry;
  readonly from: EntryName;
  readonly to: EntryName;
}

/** Bytes that `.renaming-` and eight hexadecimal digits take. */
const TEMP_MARK_BYTES = 18;

/**
 * Gives several entries of one folder other names, all of them or none. Everything is checked before the first name changes. Names may
 * swap, or follow one another: each step goes to a name that is free by then, and a circle is opened by one temporary name,
 * `<name>.renaming-<8 hex digits>`. After a failure the steps that were done are undone in reverse order.
 *
 * A process that dies in the middle leaves every entry there, under its old name, its new one, or, one for each circle at most, the
 * temporary one, which tells what it was. Whoever looks meanwhile may see such a state.
 *
 * @param now from the beginning of the call. @param queue takes over what the storage has to copy and remove, where that is much and no name is that of another of the entries. Absent: the
 * caller waits for that
 * @throws AppError ENTRY_EXISTS | PERMISSION_DENIED | FAILED_PRECONDITION (a mount point)
 */
export async function renameAll(
  operation: Operation,
  now: RightsOfNow,
  folder: RenamedFolder,
  renamings: readonly Renaming[],
  queue?: QueueItems,
): Promise<void> {
  const slot = slotIn((await folder.located.mount.driver()).traits);
  const steps = inOrder(await checkedRenamings(operation, folder, renamings, slot), slot);
  const freed = new Set(steps.map(({ from }) => slot(from)));
  const isFree = steps.every(({ to }) => !freed.has(slot(to)));
  const entries = { folder: folder.path, names: steps.flatMap(({ from, to }) => [from, to]) };
  await operation.snapshot.quotas.relocating([entries], () => takeSteps(operation, now, folder, steps, isFree ? queue : undefined));
}

async function takeSteps(
  operation: Operation,
  now: RightsOfNow,
  folder: RenamedFolder,
  steps: readonly Step[],
  queue: QueueItems | undefined,
): Promise<void> {
  const done: Renamed[] = [];
  const left: Item[] = [];
  try {
    for (const step of steps) {
      const item = itemOf(folder, step);
      const current = await mayStillRename(operation, now, item);
      const entry = queue
        ? await placeInOneStep(current, item, 'rename', whileRenamed(now, item).requireStill)
        : await renameItem(current, item, whileRenamed(now, item));
      if (queue && !entry) left.push(item);
      else done.push({ item, entry });
    }
    if (queue && (await areForQueue(operation, left))) return await queue(left);
    for (const item of left) {
      const entry = await renameItem(await mayStillRename(operation, now, item), item, whileRenamed(now, item));
      done.push({ item, entry });
    }
  } catch (error) {
    const stuck = await undo(operation, done);
    if (stuck === 0) throw error;
    const { code, message } = AppError.from(error);
    throw new AppError(code, `${message}; ${stuck} of the entries did not get their names back`, { cause: error });
  }
}

/** An entry that has its new name. */
interface Renamed {
  readonly item: Item;
  /** As it was there; undefined: nobody knows. */
  readonly entry: Entry | undefined;
}

type Looked = Omit<Item, 'conflict'>;

/** @returns the operation of now, which may give this entry its name, too */
export function mayStillRename(begun: Operation, now: RightsOfNow, item: Looked): Promise<Operation> {
  const { entry, source: path, target, from: located } = item;
  return stillAllowed(
    begun,
    now,
    (operation) => requireRenaming(operation, item),
    (operation) => requireNothingHidden(operation, { entry, path, located, target }),
  );
}

/** What a rename asks on its way and behind it. Its storage is asked nothing: what is copied may hold its only session. */
export function whileRenamed(now: RightsOfNow, item: Item): WhileRenamed {
  return {
    requireStill: (later) => requireRenaming(later, item),
    async mayStill() {
      const operation = await now();
      requireRenaming(operation, item);
      // What it takes the place of may be guarded since.
      if (item.conflict === 'replace' && conflictAt(operation, item.target) !== 'replace') throw denied();
    },
  };
}

/** @throws AppError PERMISSION_DENIED; FAILED_PRECONDITION for the admin */
function requireRenaming(operation: Operation, { source, target }: Looked): void {
  const { snapshot, actor } = operation;
  requirePermission(actor, 'rename');
  requireWrite(snapshot, actor, parentPath(source));
  snapshot.rules.requireEntry(actor, source, 'write');
  requireNoGuard(operation, source);
  snapshot.rules.requireEntry(actor, target, 'create');
}

/** Whether one of them is to go file by file, or there is more to copy and remove than anybody should wait for. */
async function areForQueue(operation: Operation, items: readonly Item[]): Promise<boolean> {
  const call = callOf(operation);
  if (items.length > LARGE_ENTRIES || !items.every((item) => mayGoWhole(operation, item))) return true;
  for (const { entry, from } of items) if (entry.isDirectory && (await hasMore(await open(from), LARGE_ENTRIES, call))) return true;
  return false;
}

/** What two names have in common that a folder cannot have both of. */
type SlotOf = (name: EntryName) => string;

function slotIn({ caseSensitive }: DriverTraits): SlotOf {
  return caseSensitive ? (name) => name : (name) => name.normalize('NFC').toLowerCase();
}

/** The renamings that change something, each checked against the rules and against the others. */
async function checkedRenamings(
  operation: Operation,
  folder: RenamedFolder,
  renamings: readonly Renaming[],
  slot: SlotOf,
): Promise<Step[]> {
  const { snapshot, actor, signal } = operation;
  const leaving = new Set(renamings.map(({ entry }) => entry.name));
  const targets = new Set<string>();
  const steps: Step[] = [];
  const pace = createPace(signal);
  for (const { entry, name } of renamings) {
    await pace.step();
    if (targets.has(slot(name))) throw nameTaken(name);
    targets.add(slot(name));
    const source = childPath(folder.path, entry.name);
    requireUnprotected(snapshot, actor, source, 'rename');
    if (entry.name === name) continue;
    requireNoGuard(operation, source);
    const target = childPath(folder.path, name);
    snapshot.rules.requireEntry(actor, target, 'create');
    if (snapshot.table.isProtected(target) || (!leaving.has(name) && (await folder.find(name)))) throw nameTaken(name);
    await requireNothingHidden(operation, { entry, path: source, located: placeIn(folder, entry.name), target });
    steps.push({ entry, from: entry.name, to: name });
  }
  return steps;
}

/**
 * Orders steps so that each finds its target free: whoever sits there has left, to a temporary name where they form a circle. A name that only
 * gets another spelling is in nobody's way.
 */
function inOrder(steps: readonly Step[], slot: SlotOf): Step[] {
  const byTarget = new Map(steps.map((step) => [slot(step.to), step]));
  const sources = new Set(steps.map((step) => slot(step.from)));
  const ordered: Step[] = [];
  const followers = (first: Step, end?: Step): void => {
    for (let step = byTarget.get(slot(first.from)); step && step !== end; step = byTarget.get(slot(step.from))) {
      ordered.push(step);
      byTarget.delete(slot(step.to));
    }
  };
  for (const step of steps) {
    if (sources.has(slot(step.to)) && slot(step.from) !== slot(step.to)) continue;
    ordered.push(step);
    byTarget.delete(slot(step.to));
    followers(step);
  }
  for (const step of steps) {
    if (byTarget.get(slot(step.to)) !== step) continue;
    const aside = temporaryName(step.from);
    ordered.push({ ...step, to: aside });
    followers(step, step);
    ordered.push({ ...step, from: aside });
    byTarget.delete(slot(step.to));
  }
  return ordered;
}

/** A name nobody else has, which tells the one it stands for. */
function temporaryName(name: EntryName): EntryName {
  const bytes = Buffer.from(name);
  let end = Math.min(bytes.length, 255 - TEMP_MARK_BYTES);
  // No character is cut in two.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return parseEntryName(`${bytes.toString('utf8', 0, end)}.renaming-${randomBytes(4).toString('hex')}`);
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

/** What somebody else has put in the place of an entry since has its name, and stays. @returns how many could not be undone */
async function undo(operation: Operation, done: readonly Renamed[]): Promise<number> {
  // The caller may be gone, or may no more; what was begun is put right all the same, however late its turn comes.
  const { renewed: _, ...lasting } = operation;
  const unhurried = { ...lasting, signal: new AbortController().signal };
  /** What went back, by where it is: of a circle one goes on from there. */
  const returned = new Map<VirtualPath, Entry | undefined>();
  let stuck = 0;
  for (const { item, entry } of done.toReversed()) {
    const back: Item = { ...item, source: item.target, target: item.source, from: item.to, to: item.from };
    try {
      const known = returned.has(back.source) ? returned.get(back.source) : entry;
      if (known && (await isOther(unhurried, known, back))) throw nameTaken(baseName(back.source));
      returned.set(back.target, await renameItem(unhurried, back));
    } catch {
      stuck += 1;
    }
  }
  return stuck;
}

/** Whether there is something else at a place by now, as far as its storage tells. */
async function isOther(operation: Operation, known: Entry, { from }: Item): Promise<boolean> {
  const { driver, path } = await open(from);
  return isOtherEntry(known, await driver.stat(path, callOf(operation)));
}

function placeIn({ located }: RenamedFolder, name: EntryName): Located<Mount> {
  return { ...located, path: childPath<MountPath>(located.path, name) };
}
