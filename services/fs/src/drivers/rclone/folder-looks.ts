import { type MountPath, nameAt, parentPath } from '@wharf/paths';
import { createSharedWork } from '../../driver-contract/shared-work.ts';
import { throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { RemoteEntry } from './client.ts';

/** How a folder has a name. */
export interface FoundName {
  /** What has it in just this spelling. */
  itself: RemoteEntry | undefined;
  /** How many have it in another spelling. */
  others: number;
}

/** A listing that has not begun, and what is wanted of it. */
interface Look {
  readonly folder: MountPath;
  readonly wanted: Map<string, FoundName>;
}

const NEVER = new AbortController().signal;

/** What two spellings of a name have in common, where `A` is taken for `a`. There is one upper case of the two small sigmas. */
export function foldedName(name: string): string {
  return name.toLowerCase().replaceAll('ς', 'σ');
}

/**
 * What folders have under single names, where only their listings tell. A folder is listed once at a time: those who ask meanwhile share the next listing,
 * which begins after they asked.
 *
 * @param list tells each entry of a folder, @param foldsCase whether `A` is taken where `a` is. @returns looks for the name of a path. It throws what the caller's signal says, or the listing
 */
export function createFolderLooks(
  list: (folder: MountPath, tell: (entry: RemoteEntry) => void, signal: AbortSignal) => Promise<void>,
  foldsCase: () => boolean,
): (path: MountPath, signal: AbortSignal | undefined) => Promise<FoundName> {
  const share = createSharedWork<Look>();
  const next = new Map<MountPath, Look>();
  const running = new Map<MountPath, Promise<void>>();

  const run = async (look: Look, signal: AbortSignal): Promise<void> => {
    for (let before = running.get(look.folder); before !== undefined; before = running.get(look.folder)) await before;
    if (next.get(look.folder) === look) next.delete(look.folder);
    if (signal.aborted) return;
    const isFolded = foldsCase();
    const keyOf = (name: string) => (isFolded ? foldedName(name) : name);
    const wanted = Map.groupBy(look.wanted, ([name]) => keyOf(name));
    const listing = list(
      look.folder,
      (entry) => {
        for (const [name, found] of wanted.get(keyOf(entry.name)) ?? []) {
          if (entry.name === name) found.itself = entry;
          else found.others += 1;
        }
      },
      signal,
    );
    const ended = listing.then(
      () => void running.delete(look.folder),
      () => void running.delete(look.folder),
    );
    running.set(look.folder, ended);
    await listing;
  };

  return async (path, signal = NEVER) => {
    throwIfAborted(signal);
    const [folder, name] = [parentPath(path), nameAt(path)];
    const look = next.get(folder) ?? { folder, wanted: new Map<string, FoundName>() };
    next.set(folder, look);
    const found = look.wanted.get(name) ?? { itself: undefined, others: 0 };
    look.wanted.set(name, found);
    await share(look, signal, (whileWaited) => run(look, whileWaited));
    return found;
  };
}
