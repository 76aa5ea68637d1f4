import { createEffect, createMemo, createSignal, on } from 'solid-js';
import { becomeFile, openFile, openFolder, place } from '../router.ts';
import { may } from '../session.ts';
import { createTaskFeed } from '../tasks/task-feed.ts';
import { foldersOf } from '../tasks/task-words.ts';
import { createPageUploads } from '../uploads/page-uploads.ts';
import { type Clipboard, createChanges } from './changes.ts';
import type { Group } from './group-entries.ts';
import { createListing } from './listing.ts';
import { look } from './look.ts';
import { createSelection } from './selection.ts';
import type { Entry } from './sort-entries.ts';
import { isWithin, joinPath, nameOf, parentOf } from './tree-path.ts';

/** A dialog that is open over the files. */
export type OpenDialog =
  | { readonly kind: 'new-folder' | 'new-file' | 'help' | 'find' | 'tasks' | 'download' }
  | { readonly kind: 'remove'; readonly entries: readonly Entry[] }
  | { readonly kind: 'rename-many'; readonly entries: readonly Entry[] }
  | { readonly kind: 'bring'; readonly verb: 'copy' | 'move'; readonly folder: string; readonly names: readonly string[] };

export type Desk = ReturnType<typeof createDesk>;

/** All that the file view works on: where the viewer is, what is there, what is chosen, and what can be done with it. */
export function createDesk() {
  const [passwords, setPasswords] = createSignal<Readonly<Record<string, string>>>({});
  const folder = createMemo(() => place().folder);
  /** A password holds for what is below its folder as well. */
  const passwordOf = (path: string): string => {
    for (let at = path; ; at = parentOf(at)) {
      const known = passwords()[at];
      if (known !== undefined || at === '/') return known ?? '';
    }
  };
  const listing = createListing(folder, passwordOf, look.arrangement);
  const [dialog, setDialog] = createSignal<OpenDialog>();
  const [clipboard, setClipboard] = createSignal<Clipboard>();
  const [renaming, setRenaming] = createSignal<string>();
  const selection = createSelection();
  /** What was chosen in each folder, while the page is open. */
  const chosenIn = new Map<string, ReadonlySet<string>>();
  const [cameFrom, setCameFrom] = createSignal<string>();

  const refreshSoon = createOnceInAWhile(() => void listing.refresh());
  const uploads = createPageUploads((path) => {
    if (isWithin(path, folder())) refreshSoon();
  });

  createEffect(
    on(folder, (next, left) => {
      if (left !== undefined) chosenIn.set(left, selection.chosen());
      selection.clear();
      const before = chosenIn.get(next) ?? new Set();
      // One is what was opened, most times. On a phone, a tap would choose more of them.
      if (!look.isPhone() && before.size > 1) selection.choose(before);
      setCameFrom(left !== undefined && left !== '/' && parentOf(left) === next ? nameOf(left) : [...before][0]);
      setRenaming();
      setDialog();
    }),
  );
  createEffect(() => {
    // An address may be one of a file; then its folder is shown, with the file.
    if (listing.state() === 'failed' && /not a folder$/.test(listing.error()?.message ?? '')) becomeFile();
  });

  const chosenEntries = () => {
    const found = [...selection.chosen()].map((name) => listing.at(listing.indexOf(name)));
    return found.filter((entry) => entry !== undefined);
  };
  return {
    tasks: createTaskFeed(({ name }) => {
      if (foldersOf(name).includes(folder())) refreshSoon();
    }),
    /** What was opened or chosen when the folder was left: there the keys go on. */
    cameFrom,
    ...{ listing, folder, selection, chosenEntries, uploads, clipboard, setClipboard, dialog, setDialog, renaming, setRenaming },
    canWrite: () => listing.info()?.write === true,
    can: (what: 'rename' | 'move' | 'copy' | 'delete') => may(what),

    open(entry: Entry) {
      if (entry.is_dir) openFolder(joinPath(folder(), entry.name));
      else openFile(folder(), entry.name);
    },
    chooseGroup(group: Group | undefined) {
      const { first = 0, count = 0 } = group ?? {};
      const names: string[] = [];
      for (let index = first; index < first + count; index += 1) names.push(listing.at(index)?.name ?? '');
      selection.choose(names);
    },
    givePassword(password: string) {
      setPasswords((known) => ({ ...known, [folder()]: password }));
      return listing.refresh();
    },
    ...createChanges({ folder, listing, selection, setClipboard }),
  };
}

/** Many files that arrive are one look at the folder. */
const REFRESH_MS = 300;

function createOnceInAWhile(work: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      work();
    }, REFRESH_MS);
  };
}
