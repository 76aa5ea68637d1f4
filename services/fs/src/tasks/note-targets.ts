import { type MountPath, parentPath } from '@wharf/paths';
import { statIfThere } from '../domain/changing/stat-if-there.ts';
import { type ManifestEntry, versionOf } from './manifest.ts';
import { placesOf } from './placement.ts';
import { isOfOneEntry, type PlacementRun } from './placement-run.ts';

/** Looks at a time: waiting for an answer is most of what one costs. */
const PARALLEL = 8;

/**
 * Notes what files are to replace, before the first of them is begun: who goes on after a kill, a lost answer or a retry replaces that alone, and not what
 * somebody saved there after it was copied for the first time. Of what may not be looked at nothing is noted: to copy it fails as well.
 *
 * @returns whether something is noted that is to be saved. @throws AppError where others would fail too
 */
export async function noteTargets(placement: PlacementRun, entries: readonly ManifestEntry[]): Promise<boolean> {
  const { run } = placement;
  if (run.input.conflict !== 'replace') return false;
  const unknown = entries.filter(({ kind, before }) => kind === 'file' && before === undefined);
  const ends = await placement.ends();
  const { driver } = ends.to;
  const call = { signal: run.signal, isPatient: true, seesAll: true } as const;
  // In a folder that is not there yet nothing is looked for.
  const folders = new Map<MountPath, Promise<boolean>>();
  const isThere = (folder: MountPath) => {
    const known = folders.get(folder) ?? statIfThere(driver, folder, call).then((entry) => entry !== undefined);
    folders.set(folder, known);
    return known;
  };
  const note = async (entry: ManifestEntry) => {
    const { targetPlace } = placesOf(ends, run.input, entry.path);
    try {
      const there = (await isThere(parentPath(targetPlace))) ? await statIfThere(driver, targetPlace, call) : undefined;
      entry.before = there ? versionOf(there) : null;
    } catch (error) {
      if (!isOfOneEntry(error)) throw error;
    }
  };
  for (let start = 0; start < unknown.length; start += PARALLEL) {
    run.signal.throwIfAborted();
    await Promise.all(unknown.slice(start, start + PARALLEL).map(note));
  }
  return unknown.some(({ before }) => before !== undefined);
}
