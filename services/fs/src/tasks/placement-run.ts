import { AppError } from '@wharf/errors';
import { parentPath, type VirtualPath } from '@wharf/paths';
import type { TaskRun } from '@wharf/task-engine';
import { z } from 'zod';
import { denied } from '../domain/access/permissions.ts';
import { copyTogether } from '../domain/changing/copies-together.ts';
import type { FileCopy } from '../domain/changing/copy-file.ts';
import { createFolderPairs, type FolderPairs } from '../domain/changing/one-file.ts';
import type { Operation } from '../domain/changing/operations/operation.ts';
import { conflictAt } from '../domain/changing/operations/plan-placement.ts';
import { patiently } from '../domain/changing/operations/rights-of-now.ts';
import type { Entry, StorageDriver } from '../driver-contract/storage-driver.ts';
import { ANY_ROOM, type CopyRoom } from './copy-room.ts';
import { entriesShape, type Manifest, type manifestChunk, openManifest, type Position, positionShape, type TakeRoom } from './manifest.ts';
import {
  openEnds,
  type PlacementEnds,
  type PlacementInput,
  type PlacementRights,
  type placesOf,
  requireRights,
  rightsFor,
  type Verb,
} from './placement.ts';
import { sharedFor } from './shared-for.ts';

/** What a placement has done, as it survives its worker. */
export const placementCheckpoint = z.object({
  phase: z.enum(['listing', 'copying', 'removing']),
  chunks: z.number().int().optional(),
  lastEntries: z.number().int(),
  entries: entriesShape.optional(),
  /** The first entry that the phase has not settled. */
  next: positionShape,
  /** While copying: entries of the chunk before this index may be there already, by an attempt that did not get to say so. */
  begunBefore: z.number().int(),
  totalBytes: z.number(),
  totalEntries: z.number().int(),
  doneBytes: z.number(),
  doneEntries: z.number().int(),
  /** Entries before `next` that could not be copied; each attempt tries them again. */
  failed: z.array(positionShape),
  /** Entries that the one who asked for it may not read any more. */
  denied: z.number().int(),
});
export type PlacementCheckpoint = z.output<typeof placementCheckpoint>;

export type PlacementTaskRun = TaskRun<PlacementInput, PlacementCheckpoint, z.output<typeof manifestChunk>>;

/** A checkpoint is written at most so often, in milliseconds: what came after the last one is looked at again by whoever goes on. */
const SAVE_MS = 1_000;
/** Rights, rules and storages are asked for again after so long, in milliseconds. */
const ENDS_MS = 2_000;
/** Folders that changed are told of so often while a task runs, in milliseconds; all of them at its end. */
const TELL_MS = 10_000;
/** What the work on one entry weighs beside its bytes. */
const ENTRY_WEIGHT = 64 * 1024;

/** One attempt at a placement: what its phases share. */
export interface PlacementRun {
  readonly run: PlacementTaskRun;
  readonly verb: Verb;
  readonly manifest: Manifest;
  /** What has been settled; the phases change it. */
  readonly state: PlacementCheckpoint;
  /** Set when this attempt, and no earlier one, has begun to copy. */
  hasBegunCopying: boolean;
  /** What the files may take; a copy sets it before the first of them. */
  room: CopyRoom;
  /** The rights and rules of a moment ago. */
  rights(): Promise<PlacementRights>;
  /** Both ends, with the rights and rules of a moment ago. @throws as openEnds() */
  ends(): Promise<PlacementEnds>;
  /** Resolves while this attempt surely holds its task. @throws AppError CANCELLED */
  assertLease(): Promise<void>;
  /** Copies a small file together with others, also of other tasks, where their storages can. */
  readonly together: NonNullable<FileCopy['together']>;
  /** Which folders are one, as long as this attempt copies. */
  readonly folderPairs: FolderPairs;
  /** Writes a checkpoint if the last one is old enough, or in any case. */
  save(isForced?: boolean): Promise<void>;
  /** Bytes that were copied, also of files that are not settled. */
  countBytes(bytes: number): void;
  /** The same of a file whose size was not known: the whole grows with it. */
  countUnsized(bytes: number): void;
  /** Entries that were settled, or removed. */
  countEntries(entries: number): void;
  /**
   * Does what changes an entry: kept listings show what became of it.
   * @param change answers the entry, undefined when it went
   */
  changing(driver: StorageDriver, path: VirtualPath, change: () => Promise<Entry | undefined>): Promise<void>;
  /** Something changed in this folder, nobody knows what exactly. */
  touched(folder: VirtualPath): void;
  /**
   * Tells everybody of the changes up to now, and of these paths.
   * @param isSure this attempt made all of them, and said of each what became of it
   */
  tell(isSure: boolean, ...paths: readonly VirtualPath[]): void;
}

export async function beginPlacement(
  run: PlacementTaskRun,
  verb: Verb,
  operationOf: (run: PlacementTaskRun) => Promise<Operation>,
  takeRoom?: TakeRoom,
): Promise<PlacementRun> {
  const state: PlacementCheckpoint = run.checkpoint ? { ...run.checkpoint } : emptyCheckpoint();
  const manifest = await openManifest(run.chunks, state, takeRoom);
  let savedAtMs = performance.now();
  let saving: Promise<void> = Promise.resolve();
  let toldAtMs = performance.now();
  let changes: Operation['changes'] | undefined;
  /** Folders, and whether all that changed in them is known. */
  const pending = new Map<VirtualPath, boolean>();
  const isFirst = run.checkpoint === undefined && run.attempt === 1;
  const save = async () => {
    // The state first: what is settled while the manifest is written is looked at again by whoever goes on.
    const settled = { ...state, failed: [...state.failed] };
    const extent = await manifest.save();
    await run.saveCheckpoint({ ...settled, ...extent });
    savedAtMs = performance.now();
  };
  // Hours of a copy are not lost because our store is away for the moment in which it is to get its name.
  const rights = sharedFor(ENDS_MS, async () => {
    const operation = await patiently(() => operationOf(run), run.signal);
    changes = operation.changes;
    return rightsFor(operation, run.input, verb);
  });
  const ends = openedBy(rights, (now) => openEnds(now, run.input));
  const tell = (isSure: boolean, ...paths: readonly VirtualPath[]) => {
    toldAtMs = performance.now();
    const isKnown = isSure && isFirst && [...pending.values()].every(Boolean);
    // A path that is told of stands for itself and for the folder that it is in.
    const folders = [...pending].filter(([folder]) => !paths.some((path) => folder === path || folder === parentPath(path)));
    pending.clear();
    for (const [folder, isKnownIn] of folders) {
      if (isKnownIn) changes?.changedIn(folder);
      else changes?.entryChanged(folder);
    }
    if (paths.length === 0) return;
    if (isKnown) changes?.changedIn(...paths);
    else changes?.entryChanged(...paths);
  };
  const note = (folder: VirtualPath, isKnownIn: boolean) => {
    pending.set(folder, isKnownIn && (pending.get(folder) ?? true));
    if (performance.now() - toldAtMs >= TELL_MS) tell(true);
  };

  return {
    run,
    verb,
    manifest,
    state,
    ...{ hasBegunCopying: false, room: ANY_ROOM },
    ...{ rights, ends },
    assertLease: () => run.assertLease(),
    together: (copy) => {
      const mayPublishUntil = async () => {
        await copy.afterWaiting?.();
        return run.heldUntil();
      };
      return copyTogether(copy, mayPublishUntil);
    },
    folderPairs: createFolderPairs({ signal: run.signal, isPatient: true }),
    save(isForced = false) {
      if (!isForced && performance.now() - savedAtMs < SAVE_MS) return Promise.resolve();
      savedAtMs = performance.now();
      saving = saving.catch(() => undefined).then(save);
      return saving;
    },
    ...createCounts(run, verb, state),
    async changing(driver, path, change) {
      const since = changes?.now() ?? 0;
      let isKnown = false;
      try {
        changes?.oneBecame({ path, driver, entry: await change(), since });
        isKnown = true;
      } finally {
        note(parentPath(path), isKnown);
      }
    },
    touched: (folder) => note(folder, false),
    tell,
  };
}

/** What is opened by one answer is for all who ask while that is the answer. */
function openedBy<Rights, Opened>(rights: () => Promise<Rights>, open: (rights: Rights) => Promise<Opened>): () => Promise<Opened> {
  let last: { readonly rights: Rights; readonly opened: Promise<Opened> } | undefined;
  return async () => {
    const now = await rights();
    if (last?.rights !== now) last = { rights: now, opened: open(now) };
    return last.opened;
  };
}

/**
 * Asked where something that was allowed has waited, or is about to get its name: the rights and rules of a moment ago, for this entry. No storage is waited
 * for: another one of the two may be away by then, and what is copied is there.
 *
 * @param replaces whether it takes the place of what is there: that may be guarded since
 */
export function mayStill(
  { rights }: Pick<PlacementRun, 'rights'>,
  places: ReturnType<typeof placesOf>,
  replaces = false,
): () => Promise<void> {
  return async () => {
    const now = await rights();
    requireRights(now, places);
    if (replaces && conflictAt(now.operation, places.target) !== 'replace') throw denied();
  };
}

/** Whether an error concerns one entry alone: others may not fail so. */
export function isOfOneEntry(error: unknown): error is AppError {
  return AppError.is(error) && !AppError.means(error, 'general') && !AppError.is(error, 'CANCELLED');
}

type Counts = Pick<PlacementRun, 'countBytes' | 'countUnsized' | 'countEntries'>;

/** What the task shows of how far it is. */
function createCounts(run: PlacementTaskRun, verb: Verb, state: PlacementCheckpoint): Counts {
  // The files on their way count too, so these run ahead of what is settled.
  const shown = { bytes: state.doneBytes, entries: state.doneEntries };
  const show = () => {
    const steps = verb === 'move' ? 2 : 1;
    const total = state.totalBytes + ENTRY_WEIGHT * state.totalEntries * steps;
    const done = shown.bytes + ENTRY_WEIGHT * shown.entries;
    run.progress({
      doneBytes: Math.min(shown.bytes, state.totalBytes),
      totalBytes: state.totalBytes,
      percent: total === 0 ? 0 : Math.min(99.9, (100 * done) / total),
    });
  };
  return {
    countBytes(bytes) {
      shown.bytes += bytes;
      show();
    },
    countUnsized(bytes) {
      state.totalBytes += bytes;
      state.doneBytes += bytes;
      shown.bytes += bytes;
      show();
    },
    countEntries(entries) {
      shown.entries += entries;
      show();
    },
  };
}

function emptyCheckpoint(): PlacementCheckpoint {
  return {
    phase: 'listing',
    chunks: 0,
    lastEntries: 0,
    next: FIRST,
    begunBefore: 0,
    totalBytes: 0,
    totalEntries: 0,
    doneBytes: 0,
    doneEntries: 0,
    failed: [],
    denied: 0,
  };
}

export const FIRST: Position = { chunk: 0, index: 0 };
