import { AppError } from '@wharf/errors';
import { baseName, nameAt, parseVirtualPath } from '@wharf/paths';
import { looksLikeCopy } from '../domain/changing/looks-like-copy.ts';
import { createFolderPairs, type FolderPairs } from '../domain/changing/one-file.ts';
import { haveSameContent } from '../domain/changing/same-content.ts';
import { statIfThere } from '../domain/changing/stat-if-there.ts';
import { folderNamed } from '../driver-contract/folder-named.ts';
import { supports } from '../driver-contract/storage-driver.ts';
import { andMore } from './and-more.ts';
import { isVersion, type ManifestEntry, type Position } from './manifest.ts';
import { placesOf, requireRights } from './placement.ts';
import { mayStill, type PlacementRun } from './placement-run.ts';

/** Sources that are removed at a time. */
const PARALLEL = 8;
/** Of so many files that stay a retry looks again. */
const MAX_STAYED = 1_000;

/** What stays where it was. */
class Stayed {
  readonly #name: string;
  #first = '';
  #count = 0;

  /** @param source what is moved */
  constructor(source: string) {
    this.#name = baseName(parseVirtualPath(source)) ?? '';
  }

  add({ path }: ManifestEntry): void {
    if (this.#count === 0) this.#first = path === '' ? this.#name : path.slice(1);
    this.#count += 1;
  }

  get count(): number {
    return this.#count;
  }

  /** Which they are. */
  get named(): string {
    return andMore(this.#first, this.#count);
  }
}

/**
 * Removes what was copied, after a last look: a file must still be what was copied and its copy be there, a folder must be empty. The task says which folders
 * are not.
 *
 * @throws AppError CONTENT_CORRUPT when files stay because they changed, or nobody knows whether they did; everything else is removed then
 */
export async function removeSources(placement: PlacementRun): Promise<void> {
  const { state, manifest, run } = placement;
  run.progress({ phase: 'removing' });
  const [changed, untold] = [new Stayed(run.input.source), new Stayed(run.input.source)];
  /** The first of them: of a tree of millions whose copy somebody removes meanwhile all stay. */
  const lookedAtAgain: Position[] = [];
  // Asked anew: since a file was copied its folders may have become one.
  const folderPairs = createFolderPairs({ signal: run.signal });
  for (;;) {
    const entries = await manifest.read(state.next.chunk);
    if (!entries) break;
    for (let start = state.next.index; start < entries.length; start += PARALLEL) {
      run.signal.throwIfAborted();
      await Promise.all(
        entries.slice(start, start + PARALLEL).map(async (entry, offset) => {
          if (entry.kind !== 'file' || entry.left) return;
          const outcome = await removeFile(placement, folderPairs, entry);
          if (outcome === 'untold') untold.add(entry);
          if (outcome !== 'changed') return;
          changed.add(entry);
          if (changed.count <= MAX_STAYED) lookedAtAgain.push({ chunk: state.next.chunk, index: start + offset });
        }),
      );
      state.next = { ...state.next, index: Math.min(entries.length, start + PARALLEL) };
      placement.countEntries(PARALLEL);
      // The one that is asked for again is not there any more: that is success.
      await placement.save();
    }
    state.next = { chunk: state.next.chunk + 1, index: 0 };
  }
  if (!run.input.files) await removeFolders(placement);
  if (changed.count + untold.count === 0) return;
  // A retry copies them again.
  Object.assign(state, { phase: 'copying', failed: lookedAtAgain, begunBefore: 0 });
  await placement.save(true);
  throw new AppError('CONTENT_CORRUPT', [...textsOf(changed, untold)].join('; '));
}

function* textsOf(changed: Stayed, untold: Stayed): Generator<string> {
  if (changed.count === 1) yield `a file changed while it was moved; it stays in both places: ${changed.named}`;
  if (changed.count > 1) yield `${changed.count} files changed while they were moved; they stay in both places: ${changed.named}`;
  if (untold.count > 0) yield `what has no known size stays in both places, as nobody can tell that all of it was copied: ${untold.named}`;
}

/** @returns why it stays: it or its copy is not what was copied, or its storage does not tell whether it is */
async function removeFile(
  placement: PlacementRun,
  folderPairs: FolderPairs,
  entry: ManifestEntry,
): Promise<'changed' | 'untold' | undefined> {
  const { run } = placement;
  const ends = await placement.ends();
  const places = placesOf(ends, run.input, entry.path);
  const { source, sourcePlace, targetPlace } = places;
  requireRights(ends, places);
  const call = { signal: run.signal, afterWaiting: mayStill(placement, places) };
  const { driver } = ends.from;
  if (!supports(driver, 'remove')) throw new AppError('UNSUPPORTED_OPERATION', 'not support');
  const [now, copy] = await Promise.all([statIfThere(driver, sourcePlace, call), statIfThere(ends.to.driver, targetPlace, call)]);
  if (!now) return undefined;
  if (!copy) return 'changed';
  const stays = now.sizeBytes === undefined && now.modifiedAt.getTime() === entry.modified ? 'untold' : 'changed';
  if (!isVersion(entry, now) || looksLikeCopy(now, copy, ends.to.driver) === false) return stays;
  const [from, to] = [
    { driver, path: sourcePlace },
    { driver: ends.to.driver, path: targetPlace },
  ];
  if (entry.replaces && (await folderPairs.areOne(from, to))) return stays;
  if (entry.recent && !(await haveSameContent(from, to, call))) return stays;
  // The looks may have taken long, as that at both contents.
  await call.afterWaiting();
  await placement.assertLease();
  try {
    await placement.changing(driver, source, async () => {
      await driver.remove(sourcePlace, { ...call, recursive: false, onlyIf: now });
      return undefined;
    });
  } catch (error) {
    if (AppError.is(error, 'STALE_VERSION')) return stays;
    throw error;
  }
  return undefined;
}

/** The deepest first. One in which something is left stays, which the task says. */
async function removeFolders(placement: PlacementRun): Promise<void> {
  const { manifest, run } = placement;
  const stayed = new Stayed(run.input.source);
  for (let chunk = manifest.chunks() - 1; chunk >= 0; chunk -= 1) {
    const entries = (await manifest.read(chunk)) ?? [];
    for (const entry of entries.toReversed()) {
      if (entry.kind !== 'folder') continue;
      run.signal.throwIfAborted();
      const ends = await placement.ends();
      const { driver } = ends.from;
      if (!supports(driver, 'remove')) continue;
      await placement.assertLease();
      const places = placesOf(ends, run.input, entry.path);
      const { source, sourcePlace } = places;
      requireRights(ends, places);
      try {
        await placement.changing(driver, source, async () => {
          const onlyIf = folderNamed(nameAt(sourcePlace));
          await driver.remove(sourcePlace, { recursive: false, onlyIf, signal: run.signal, afterWaiting: mayStill(placement, places) });
          return undefined;
        });
      } catch (error) {
        if (AppError.is(error, 'DIRECTORY_NOT_EMPTY')) stayed.add(entry);
        // Gone, and what has its name by now is somebody else's.
        else if (!AppError.is(error, 'ENTRY_NOT_FOUND') && !AppError.is(error, 'STALE_VERSION')) throw error;
      }
    }
  }
  if (stayed.count > 0) run.progress({ status: `moved; folders that are not empty stay: ${stayed.named}` });
}
