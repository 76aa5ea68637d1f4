import type { Accessor } from 'solid-js';
import { call } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';
import { notify } from '../parts/notices.tsx';
import { openFile, openFolder } from '../router.ts';
import { encodePath, putText } from '../uploads/send-bytes.ts';
import { explain } from './explain.ts';
import type { Listing } from './listing.ts';
import type { Selection } from './selection.ts';
import type { Entry } from './sort-entries.ts';
import { joinPath } from './tree-path.ts';

export interface Clipboard {
  readonly verb: 'copy' | 'move';
  readonly folder: string;
  readonly names: readonly string[];
}

/** What becomes of an entry whose name is taken in the folder that it is brought to. */
export type OnTaken = 'refuse' | 'skip' | 'replace';

interface Changed {
  readonly folder: Accessor<string>;
  readonly listing: Listing;
  readonly selection: Selection;
  readonly setClipboard: () => void;
}

/** What changes the files of the folder that is shown. */
export function createChanges({ folder, listing, selection, setClipboard }: Changed) {
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
  /** Chooses what is new in a folder, unless another one is shown by now. */
  const choose = (inside: string, names: readonly string[]): boolean => {
    const isShown = folder() === inside;
    if (isShown) selection.choose(names);
    return isShown;
  };

  return {
    makeFolder(name: string) {
      const inside = folder();
      return change(async () => {
        await call('/api/fs/mkdir', { path: joinPath(inside, name) });
        choose(inside, [name]);
      });
    },
    /** An empty text, which is opened to be written. */
    makeFile: async (name: string) => {
      const inside = folder();
      const path = joinPath(inside, name);
      const headers = { 'File-Path': encodePath(path), 'Content-Type': 'text/plain; charset=utf-8', Overwrite: 'false' };
      if (!(await change(() => putText(headers, '')))) return;
      if (choose(inside, [name])) openFile(inside, name);
    },
    /** @param changes each from the name it has to the name it gets */
    renameMany(changes: readonly { readonly from: string; readonly to: string }[]) {
      const inside = folder();
      return change(async () => {
        await call('/api/fs/batch_rename', {
          src_dir: inside,
          rename_objects: changes.map(({ from, to }) => ({ src_name: from, new_name: to })),
        });
        choose(
          inside,
          changes.map(({ to }) => to),
        );
        notify(t('renamedMany', { n: changes.length }));
      });
    },
    /** @param inside the folder that the entry is in: another one may be shown by now */
    rename: (inside: string, from: string, to: string) =>
      change(async () => {
        await call('/api/fs/rename', { path: joinPath(inside, from), name: to });
        choose(inside, [to]);
      }),
    remove: async (entries: readonly Entry[]) => {
      const isAsked = await change(async () => {
        await call('/api/fs/remove', { dir: folder(), names: entries.map(({ name }) => name) });
        selection.clear();
      });
      if (!isAsked) return false;
      // What takes long goes by a task: it is there yet.
      const isQueued = entries.some(({ name }) => listing.indexOf(name) !== -1);
      notify(t(isQueued ? 'removing' : 'removed', { n: entries.length }));
      return true;
    },
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
