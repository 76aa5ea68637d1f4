import { AppError } from '@wharf/errors';
import { baseName, parentPath } from '@wharf/paths';
import { areCopiedTogether } from '../domain/changing/copies-together.ts';
import { copiesItself, copyFile as copyOneFile } from '../domain/changing/copy-file.ts';
import { looksLikeCopy, mayBeCopy, provesCopy } from '../domain/changing/looks-like-copy.ts';
import { looksLikeOneFile, mayBeOneFile } from '../domain/changing/one-file.ts';
import { nameTaken, savedMeanwhile } from '../domain/changing/operations/operation.ts';
import { type Conflict, conflictAt } from '../domain/changing/operations/plan-placement.ts';
import { haveSameContent } from '../domain/changing/same-content.ts';
import { SMALL_BYTES } from '../domain/changing/small-files.ts';
import { statIfThere } from '../domain/changing/stat-if-there.ts';
import type { Entry, StorageDriver } from '../driver-contract/storage-driver.ts';
import { isToldOtherwise } from '../driver-contract/unchanged.ts';
import { isAsNoted, isVersion, type ManifestEntry, type Position, versionOf } from './manifest.ts';
import { noteTargets } from './note-targets.ts';
import { type PlacementEnds, type PlacementInput, placesOf, requireRights } from './placement.ts';
import { isOfOneEntry, mayStill, type PlacementRun } from './placement-run.ts';

/** Entries that one checkpoint allows to be begun: so many are looked at again after a worker was lost, at most. */
export const WINDOW = 256;
/** Files of one task that are on their way at a time: waiting for a disk to sync, or for an answer, is most of what small files cost. */
const PARALLEL = 8;
/** The same of small files, for each of these, where storages take several in one call. */
const SMALL_AT_ONCE = 4;
/** So many entries may fail before the attempt is given up. */
const MAX_FAILED = 100;

/** So young a file may be changed within the second that its storage tells, though its clock is ahead of ours or behind it, in milliseconds. */
const RECENT_MS = 60_000;

/** Where an entry that could not be copied stands, and why. */
interface Failure {
  readonly position: Position;
  readonly path: string;
  readonly error: AppError;
}

/**
 * Copies everything that the manifest names and that is not settled. Entries that fail alone do not stop the others.
 *
 * @throws AppError with the first of these failures, when all others are copied
 */
export async function copyEntries(placement: PlacementRun): Promise<void> {
  const { state, manifest } = placement;
  const failures: Failure[] = [];
  try {
    for (const position of [...state.failed]) {
      const entry = (await manifest.read(position.chunk))?.[position.index];
      if (entry && (await settleEntry(placement, failures, position, entry, true))) state.doneBytes += entry.size ?? 0;
    }
    for (let isFirst = true; ; isFirst = false) {
      const entries = await manifest.read(state.next.chunk);
      if (!entries) break;
      if (state.next.index >= entries.length) {
        state.next = { chunk: state.next.chunk + 1, index: 0 };
        state.begunBefore = 0;
        continue;
      }
      // What the checkpoint that began this phase allows, this very attempt has not begun yet.
      const isAllowed = isFirst && placement.hasBegunCopying;
      const inDoubtBefore = isAllowed ? 0 : state.begunBefore;
      if (!isAllowed) state.begunBefore = Math.max(inDoubtBefore, state.next.index + WINDOW);
      const isNoted = await noteTargets(placement, entries.slice(state.next.index, state.begunBefore));
      if (isNoted) manifest.changed(state.next.chunk);
      if (isNoted || !isAllowed) await placement.save(true);
      await copyWindow(placement, failures, entries, inDoubtBefore);
    }
  } catch (error) {
    await saveLast(placement);
    throw error;
  }
  if (failures.length > 0) await saveLast(placement);
  const [first] = failures;
  if (first) throw described(first, failures.length);
  if (state.denied > 0) throw new AppError('PERMISSION_DENIED', `permission denied: ${state.denied} entries were left out`);
}

/** Whoever goes on, after a pause, a retry or another worker's end, begins where this one ends. Without its lease it has no say. */
async function saveLast({ save, run }: PlacementRun): Promise<void> {
  await save(true).catch((error) => run.logger.debug({ err: error }, 'a placement ends without a checkpoint'));
}

/** Settles the entries of one chunk up to `begunBefore`, several at a time. */
async function copyWindow(
  placement: PlacementRun,
  failures: Failure[],
  entries: readonly ManifestEntry[],
  inDoubtBefore: number,
): Promise<void> {
  const { state } = placement;
  const { chunk, index: start } = state.next;
  const end = Math.min(entries.length, state.begunBefore);
  /** By index, and whether it is where it goes. */
  const settled = new Map<number, boolean>();
  /** Folders on their way, by path. What is in them waits: a kept listing above would not know the way to it, and be read again. */
  const making = new Map<string, Promise<unknown>>();
  let following = start;
  let fatal: { error: unknown } | undefined;

  const ends = await placement.ends();
  const most = areCopiedTogether(ends.from, ends.to) && !copiesItself(ends.from, ends.to) ? SMALL_AT_ONCE : 1;

  const settleOne = async (index: number): Promise<void> => {
    const entry = entries[index];
    if (!entry) return;
    const above = making.get(entry.path.slice(0, Math.max(0, entry.path.lastIndexOf('/'))));
    const settle = () => settleEntry(placement, failures, { chunk, index }, entry, index < inDoubtBefore);
    const settling = above ? above.then(settle) : settle();
    // Whoever makes it meets its failure.
    const made = settling.catch(() => undefined);
    if (entry.kind !== 'file') making.set(entry.path, made);
    settled.set(index, await settling);
    let next = state.next.index;
    for (let isDone = settled.get(next); isDone !== undefined; isDone = settled.get(next)) {
      settled.delete(next);
      state.doneEntries += 1;
      // What failed is still to be copied, and claimed, by whoever tries it again.
      if (isDone) state.doneBytes += entries[next]?.size ?? 0;
      next += 1;
    }
    state.next = { chunk, index: next };
    await placement.save();
  };
  /** The next entry, with small files that follow it where it is one itself. */
  const take = (): number[] => {
    const taken = [following];
    following += 1;
    const isSmallOne = (index: number) => isSmall(entries[index]);
    while (taken.length < most && following < end && taken.every(isSmallOne) && isSmallOne(following)) {
      taken.push(following);
      following += 1;
    }
    return taken;
  };
  const work = async () => {
    while (following < end && !fatal)
      for (const outcome of await Promise.allSettled(take().map(settleOne))) if (outcome.status === 'rejected') throw outcome.reason;
  };
  const workers = Array.from({ length: PARALLEL }, () =>
    work().catch((error) => {
      fatal ??= { error };
    }),
  );
  await Promise.all(workers);
  if (fatal) throw fatal.error;
}

/** Brings one entry to its place, or notes why it did not come there. @returns whether it came there. @throws AppError where others would fail too */
async function settleEntry(
  placement: PlacementRun,
  failures: Failure[],
  position: Position,
  entry: ManifestEntry,
  isInDoubt: boolean,
): Promise<boolean> {
  const { run, state } = placement;
  const isHere = (other: Position) => other.chunk === position.chunk && other.index === position.index;
  run.signal.throwIfAborted();
  try {
    await copyEntry(placement, position, entry, isInDoubt);
    state.failed = state.failed.filter((other) => !isHere(other));
    placement.countEntries(1);
    return true;
  } catch (error) {
    run.signal.throwIfAborted();
    if (!isOfOneEntry(error)) throw error;
    failures.push({ position, path: entry.path, error });
    if (!state.failed.some(isHere)) state.failed = [...state.failed, position];
    if (failures.length > MAX_FAILED) throw described({ position, path: entry.path, error }, failures.length);
    placement.countEntries(1);
    return false;
  }
}

async function copyEntry(placement: PlacementRun, position: Position, entry: ManifestEntry, isInDoubt: boolean): Promise<void> {
  const { run } = placement;
  const ends = await placement.ends();
  const places = placesOf(ends, run.input, entry.path);
  const { driver } = ends.to;
  requireRights(ends, places);
  if (entry.kind !== 'file') {
    if (run.input.files) return;
    await placement.assertLease();
    const call = { signal: run.signal, isPatient: true, afterWaiting: mayStill(placement, places) } as const;
    await placement.changing(driver, places.target, () => driver.makeDirectory(places.targetPlace, call));
    return;
  }
  const outcome = await copyFile(placement, ends, position, entry, places, isInDoubt);
  if (outcome === 'left') {
    entry.left = true;
    placement.manifest.changed(position.chunk);
    return;
  }
  if (entry.left || entry.version !== outcome.version || !isVersion(entry, outcome)) {
    delete entry.left;
    Object.assign(entry, versionOf(outcome));
    placement.manifest.changed(position.chunk);
  }
  if (ends.verb === 'move' && !entry.recent && isRecent(outcome, ends.from.driver)) {
    entry.recent = true;
    placement.manifest.changed(position.chunk);
  }
}

/** @returns the file that was copied, or that it was left where it is */
async function copyFile(
  placement: PlacementRun,
  ends: PlacementEnds,
  position: Position,
  entry: ManifestEntry,
  places: ReturnType<typeof placesOf>,
  isInDoubt: boolean,
): Promise<Entry | 'left'> {
  const { run } = placement;
  const conflict = conflictNow(ends, places, run.input.conflict);
  const call = { signal: run.signal, isPatient: true, afterWaiting: mayStill(placement, places, conflict === 'replace') } as const;
  const from = { driver: ends.from.driver, path: places.sourcePlace };
  const to = { driver: ends.to.driver, path: places.targetPlace };
  const isMoved = ends.verb === 'move';
  let overwrite = conflict === 'replace';
  const made = (copy: Entry) => isMoved && noteCopy(placement, position, entry, copy);

  if (isInDoubt || conflict === 'keep' || (isMoved && conflict === 'replace')) {
    const there = await statIfThere(to.driver, to.path, { ...call, seesAll: true });
    if (there) {
      const source = await from.driver.stat(from.path, call);
      if (isMoved && (isInDoubt || conflict === 'replace')) {
        // What an earlier attempt copied looks like its source, and the folders alone can tell.
        const isAlike = !isInDoubt && looksLikeOneFile(source, from.driver, there, to.driver);
        if (isAlike || (await placement.folderPairs.areOne(from, to))) throw mayBeOneFile();
        entry.replaces = true;
        placement.manifest.changed(position.chunk);
      }
      if (isInDoubt) {
        // What was to be replaced, or what somebody stored there, may be as long and as old as the source.
        const isAsBefore = isAsNoted(entry.before, there);
        const isAlike = isAsBefore ? looksLikeCopy(source, there, to.driver) : mayBeCopy(source, there);
        // To copy it once more costs less than to read both, where no byte comes here.
        const isRepeated = conflict === 'replace' && isAsBefore && copiesItself(from, to);
        const isMade = provesCopy(source, there) || (isAlike !== false && !isRepeated && (await haveSameContent(from, to, call)));
        if (isMade && !(conflict === 'replace' && to.driver.traits.hasMirrors)) {
          placement.countBytes(source.sizeBytes ?? 0);
          placement.touched(parentPath(places.target));
          made(there);
          return source;
        }
        // An earlier attempt made it, of what the source was then.
        const isOurs = isMade || isNotedCopy(run.input, entry, there);
        if (conflict === 'replace' && !isAsBefore && !isOurs) throw savedMeanwhile(baseName(places.target));
        overwrite ||= isOurs;
      }
      if (conflict === 'keep' && !overwrite) return 'left';
    }
  }
  let copied = 0;
  const count = entry.size === undefined ? placement.countUnsized : placement.countBytes;
  try {
    const onBytes = (bytes: number) => {
      copied += bytes;
      count(bytes);
    };
    let source: Entry | undefined;
    await placement.changing(to.driver, places.target, async () => {
      const together = isSmall(entry) ? placement.together : undefined;
      // It may have waited for its turn, and been copied for hours.
      const beforePublish = async () => {
        await call.afterWaiting();
        await placement.assertLease();
      };
      const copy = { ...call, from, to, overwrite, onBytes, beforePublish, together };
      const copied = await placement.room.during((onOpened) => copyOneFile({ ...copy, said: { sizeBytes: entry.size }, onOpened }));
      source = copied.source;
      made(copied.target);
      return copied.target;
    });
    if (!source) throw new Error('a copy has no source');
    return source;
  } catch (error) {
    count(-copied);
    if (!AppError.is(error, 'ENTRY_EXISTS')) throw error;
    if (conflict === 'keep') return 'left';
    throw nameTaken(baseName(places.target));
  }
}

/** Where its source has changed by the time it is to go, a retry replaces this copy, and not what somebody saved over it. */
function noteCopy({ manifest }: PlacementRun, { chunk }: Position, entry: ManifestEntry, copy: Entry): void {
  entry.before = versionOf(copy);
  manifest.changed(chunk);
}

/** Whether it may be copied together with others. */
function isSmall(entry: ManifestEntry | undefined): boolean {
  return entry?.kind === 'file' && entry.size !== undefined && entry.size <= SMALL_BYTES;
}

/** Whether a file may change without that its size and time show it. */
function isRecent({ modifiedAt, version }: Entry, { traits }: StorageDriver): boolean {
  return version === undefined && traits.modTimeStepMs !== 1 && Date.now() - modifiedAt.getTime() < RECENT_MS;
}

/** Whether a file surely is what was noted of a copy, where nothing else is replaced. */
function isNotedCopy({ conflict }: PlacementInput, { before }: ManifestEntry, there: Entry): boolean {
  return conflict !== 'replace' && !!before && isVersion(before, there) && isToldOtherwise(before.modified, before.version, there.version);
}

/** What may be done about a file that is at the target, by the rules as they are now: what was allowed when the task was queued may be guarded since. */
function conflictNow({ operation }: PlacementEnds, places: ReturnType<typeof placesOf>, planned: Conflict): Conflict {
  return planned === 'replace' ? conflictAt(operation, places.target) : planned;
}

/** What the task says of entries that failed alone. */
function described({ path, error }: Failure, count: number): AppError {
  const more = count > 1 ? ` (and ${count - 1} more that failed)` : '';
  return new AppError(error.code, `${path === '' ? '' : `${path.slice(1)}: `}${error.message}${more}`, { cause: error });
}
