import { AppError } from '@wharf/errors';
import { type EntryName, MOUNT_ROOT } from '@wharf/paths';
import { listInTurn } from '../driver-contract/long-listings.ts';
import { type Entry, supports } from '../driver-contract/storage-driver.ts';
import { MAX_WALKED_ENTRIES, tooMany } from '../driver-contract/walk-bound.ts';
import { manifestEntry } from './manifest.ts';
import { below, type PlacementEnds, placesOf } from './placement.ts';
import type { PlacementRun } from './placement-run.ts';

/**
 * Writes down everything that is to be copied, folder by folder. The manifest itself says which folders are still to be listed.
 *
 * @throws AppError FAILED_PRECONDITION for a tree that does not end
 */
export async function listSource(placement: PlacementRun): Promise<void> {
  const { run, state, manifest } = placement;
  if (state.chunks === 0) {
    await beginListing(placement);
    if (await listTree(placement)) return;
  }
  for (;;) {
    const entries = await manifest.read(state.next.chunk);
    if (!entries) return;
    const entry = entries[state.next.index];
    if (!entry) {
      state.next = { chunk: state.next.chunk + 1, index: 0 };
      continue;
    }
    run.signal.throwIfAborted();
    if (entry.kind === 'folder' && !run.input.files) await listFolder(placement, entry.path);
    state.next = { ...state.next, index: state.next.index + 1 };
    await placement.save();
  }
}

async function beginListing({ run, state, manifest, ends }: PlacementRun): Promise<void> {
  run.progress({ status: 'getting src object', phase: 'listing' });
  const { from } = await ends();
  const { files } = run.input;
  for (const path of files ?? ['']) {
    const entry = await from.driver.stat(below(from.located.path, path), { signal: run.signal, isPatient: true }).catch((error) => {
      // One of several that is gone was moved by somebody else; the only one is missed.
      if (files && AppError.is(error, 'ENTRY_NOT_FOUND')) return undefined;
      throw error;
    });
    if (!entry) continue;
    if (entry.isDirectory) run.progress({ status: 'src object is dir, listing objs' });
    await manifest.append(manifestEntry(path, entry));
    count(state, entry);
  }
}

/** Between two looks at how far a tree is. */
const PROGRESS_ENTRIES = 1_000;

/**
 * All at once, by the storage's own recursive listing. Nothing of it is durable before its end: a task that is lost meanwhile lists anew.
 *
 * @returns false where the storage has none
 */
async function listTree(placement: PlacementRun): Promise<boolean> {
  const { run, state, manifest } = placement;
  const ends = await placement.ends();
  const { driver, located } = ends.from;
  const [root] = (await manifest.read(0)) ?? [];
  if (root?.kind !== 'folder' || run.input.files || !supports(driver, 'listAll')) return false;
  /** Folders that the one who asked may not read: what is below them is not told of. */
  const closed = new Set<string>();
  let permission: { folder: string; isAllowed: (name: EntryName) => boolean } | undefined;
  for await (const { path: place, entry } of driver.listAll(located.path, { signal: run.signal, isPatient: true })) {
    const path = located.path === MOUNT_ROOT ? place : place.slice(located.path.length);
    const folder = path.slice(0, path.lastIndexOf('/'));
    if (permission?.folder !== folder) permission = { folder, isAllowed: permissionIn(ends, placement, folder) };
    const isBelowClosed = closed.has(folder);
    if (isBelowClosed || !permission.isAllowed(entry.name)) {
      if (entry.isDirectory) closed.add(path);
      if (!isBelowClosed) state.denied += 1;
      continue;
    }
    await manifest.append(manifestEntry(path, entry));
    count(state, entry);
    if (state.totalEntries % PROGRESS_ENTRIES === 0) run.progress({ totalBytes: state.totalBytes });
  }
  run.progress({ totalBytes: state.totalBytes });
  return true;
}

async function listFolder(placement: PlacementRun, path: string): Promise<void> {
  const { run, state, manifest } = placement;
  const ends = await placement.ends();
  const isAllowed = permissionIn(ends, placement, path);
  const folder = below(ends.from.located.path, path);
  await listInTurn({ signal: run.signal, isPatient: true }, async (options) => {
    for await (const entry of ends.from.driver.list(folder, options)) {
      if (!isAllowed(entry.name)) {
        state.denied += 1;
        continue;
      }
      await manifest.append(manifestEntry(`${path}/${entry.name}`, entry));
      count(state, entry);
    }
  });
  run.progress({ totalBytes: state.totalBytes });
}

/** Rules may have changed since the whole was allowed. */
function permissionIn(ends: PlacementEnds, { run }: PlacementRun, path: string): (name: EntryName) => boolean {
  const { rules } = ends.operation.snapshot;
  const { actor } = ends.operation;
  if (rules.records.length === 0) return () => true;
  const change = ends.verb === 'move' ? 'write' : 'read';
  const { source: folder } = placesOf(ends, run.input, path);
  const isHidden = rules.hiddenNames(actor, folder);
  return (name) => !isHidden?.(name) && rules.mayTouch(actor, placesOf(ends, run.input, `${path}/${name}`).source, change);
}

function count(state: PlacementRun['state'], entry: Entry): void {
  state.totalEntries += 1;
  if (state.totalEntries > MAX_WALKED_ENTRIES) throw tooMany();
  if (!entry.isDirectory) state.totalBytes += entry.sizeBytes ?? 0;
}
