import { createEffect, createMemo, createSignal, on } from 'solid-js';
import { call } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';
import { notify } from '../parts/notices.tsx';
import { becomeFile, openFile, openFolder, place } from '../router.ts';
import { may } from '../session.ts';
import { sendFile } from '../uploads/send-file.ts';
import { createUploadQueue } from '../uploads/upload-queue.ts';
import { explain } from './explain.ts';
import { createListing } from './listing.ts';
import type { Entry } from './sort-entries.ts';
import { isWithin, joinPath, parentOf } from './tree-path.ts';

/** A dialog that is open over the files. */
export type OpenDialog =
  | { readonly kind: 'new-folder' | 'help' | 'find' }
  | { readonly kind: 'remove'; readonly entries: readonly Entry[] }
  | { readonly kind: 'bring'; readonly verb: 'copy' | 'move'; readonly folder: string; readonly names: readonly string[] };

export interface Clipboard {
  readonly verb: 'copy' | 'move';
  readonly folder: string;
  readonly names: readonly string[];
}

/** What becomes of an entry whose name is taken in the folder that it is brought to. */
export type OnTaken = 'refuse' | 'skip' | 'replace';

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
  const listing = createListing(folder, passwordOf);
  const [dialog, setDialog] = createSignal<OpenDialog>();
  const [clipboard, setClipboard] = createSignal<Clipboard>();
  const [renaming, setRenaming] = createSignal<string>();
  const selection = createSelection();

  const refreshSoon = createOnceInAWhile(() => void listing.refresh());
  const uploads = createUploadQueue(sendFile, (path) => isWithin(path, folder()) && refreshSoon());

  createEffect(
    on(folder, () => {
      selection.clear();
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
  /** Does what changes files; says what failed, and shows the folder as it is then. */
  const change = async (work: () => Promise<unknown>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (error) {
      notify(explain(error), { isBad: true });
      return false;
    } finally {
      await listing.refresh();
    }
  };

  return {
    ...{ listing, folder, selection, chosenEntries, uploads, clipboard, setClipboard, dialog, setDialog, renaming, setRenaming },
    canWrite: () => listing.info()?.write === true,
    can: (what: 'rename' | 'move' | 'copy' | 'delete') => may(what),

    open(entry: Entry) {
      if (entry.is_dir) openFolder(joinPath(folder(), entry.name));
      else openFile(folder(), entry.name);
    },
    givePassword(password: string) {
      setPasswords((known) => ({ ...known, [folder()]: password }));
      return listing.refresh();
    },
    makeFolder: (name: string) =>
      change(async () => {
        await call('/api/fs/mkdir', { path: joinPath(folder(), name) });
        selection.choose([name]);
      }),
    rename: (from: string, to: string) =>
      change(async () => {
        await call('/api/fs/rename', { path: joinPath(folder(), from), name: to });
        selection.choose([to]);
      }),
    remove: (entries: readonly Entry[]) =>
      change(async () => {
        await call('/api/fs/remove', { dir: folder(), names: entries.map(({ name }) => name) });
        selection.clear();
        notify(t('removed', { n: entries.length }));
      }),
    bring: ({ verb, folder: from, names }: Clipboard, to: string, onTaken: OnTaken) =>
      change(async () => {
        const answer = await call(`/api/fs/${verb}`, {
          src_dir: from,
          dst_dir: to,
          names: [...names],
          overwrite: onTaken === 'replace',
          skip_existing: onTaken === 'skip',
        });
        const isQueued = (answer?.tasks.length ?? 0) > 0;
        const text = verb === 'copy' ? (isQueued ? 'copying' : 'copied') : isQueued ? 'moving' : 'moved';
        const show = { label: t('show'), run: () => openFolder(to) };
        notify(t(text, { n: names.length }), to === folder() ? {} : { action: show });
        if (verb === 'move') setClipboard();
      }),
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

/** Entries by their names, the one that keys act on, and the one that a range begins at. */
function createSelection() {
  const [chosen, setChosen] = createSignal<ReadonlySet<string>>(new Set());
  const [active, setActive] = createSignal(-1);
  const [anchor, setAnchor] = createSignal(-1);
  return {
    chosen,
    /** The place of the entry that keys act on; -1: none. */
    active,
    anchor,
    setActive,
    setAnchor,
    clear() {
      setChosen(new Set<string>());
      setActive(-1);
      setAnchor(-1);
    },
    choose: (names: Iterable<string>) => setChosen(new Set(names)),
    toggle: (name: string) =>
      setChosen((names) => {
        const next = new Set(names);
        if (!next.delete(name)) next.add(name);
        return next;
      }),
  };
}
