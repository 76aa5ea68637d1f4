import {
  ArrowDownUp,
  ClipboardPaste,
  CloudDownload,
  Copy,
  Download,
  FilePlus,
  Files,
  FolderInput,
  FolderPlus,
  type IconNode,
  Info,
  Keyboard,
  Link,
  PencilLine,
  RefreshCw,
  Scissors,
  Search,
  SquareArrowOutUpRight,
  SquareCheck,
  SquareStack,
  Trash2,
  Upload,
} from 'lucide';
import { t } from '../i18n/i18n.ts';
import type { Messages } from '../i18n/messages-en.ts';
import { notify } from '../parts/notices.tsx';
import { isGuest, may, me } from '../session.ts';
import { chooseFiles } from '../uploads/choose-files.ts';
import type { Desk } from './desk.ts';
import { look } from './look.ts';
import type { Entry } from './sort-entries.ts';
import { addressOf, bytesAddress, joinPath } from './tree-path.ts';

/** Something that can be done with files: in menus, on the bar, by keys and in the palette alike. */
export interface Action {
  readonly id: keyof Messages;
  readonly icon: IconNode;
  /** As `event.key` has it, with `Ctrl+` (on a Mac the command key) or `Alt+` in front. Letters alone are for finding names. */
  readonly keys?: string;
  /** What it acts on: chosen entries, one of them, or the folder itself. */
  readonly on: 'many' | 'one' | 'folder';
  readonly isDanger?: boolean;
  /** Whether it is offered now. */
  readonly isOpen?: (desk: Desk, entries: readonly Entry[]) => boolean;
  readonly run: (desk: Desk, entries: readonly Entry[]) => unknown;
}

const hold = (verb: 'copy' | 'move') => (desk: Desk, entries: readonly Entry[]) => {
  desk.setClipboard({ verb, folder: desk.folder(), names: entries.map(({ name }) => name) });
  notify(t(verb === 'copy' ? 'heldCopy' : 'heldMove', { n: entries.length }));
};
const bring = (verb: 'copy' | 'move') => (desk: Desk, entries: readonly Entry[]) =>
  desk.setDialog({ kind: 'bring', verb, folder: desk.folder(), names: entries.map(({ name }) => name) });
const hasFiles = (_: Desk, entries: readonly Entry[]) => entries.some((entry) => !entry.is_dir);

/** In the order of menus. */
export const ACTIONS: readonly Action[] = [
  { id: 'open', icon: SquareArrowOutUpRight, keys: 'Enter', on: 'one', run: (desk, [entry]) => entry && desk.open(entry) },
  { id: 'download', icon: Download, on: 'many', isOpen: hasFiles, run: downloadAll },
  { id: 'copyLink', icon: Link, on: 'one', run: copyLink },
  {
    id: 'rename',
    icon: PencilLine,
    keys: 'F2',
    on: 'one',
    isOpen: (desk) => desk.can('rename'),
    run: (desk, [entry]) => desk.setRenaming(entry?.name),
  },
  {
    ...{ id: 'renameMany', icon: PencilLine, keys: 'F2', on: 'many' },
    isOpen: (desk, entries) => entries.length > 1 && desk.can('rename'),
    run: (desk, entries) => desk.setDialog({ kind: 'rename-many', entries }),
  },
  { id: 'copyTo', icon: Files, on: 'many', isOpen: (desk) => desk.can('copy'), run: bring('copy') },
  { id: 'moveTo', icon: FolderInput, on: 'many', isOpen: (desk) => desk.can('move'), run: bring('move') },
  { id: 'copy', icon: Copy, keys: 'Ctrl+c', on: 'many', isOpen: (desk) => desk.can('copy'), run: hold('copy') },
  { id: 'cut', icon: Scissors, keys: 'Ctrl+x', on: 'many', isOpen: (desk) => desk.can('move'), run: hold('move') },
  {
    ...{ id: 'selectGroup', icon: SquareStack, on: 'one', isOpen: (desk) => desk.listing.groups().length > 0 },
    run: (desk, [entry]) => entry && desk.chooseGroup(desk.listing.groupOf(desk.listing.indexOf(entry.name))),
  },
  { id: 'details', icon: Info, keys: 'Alt+Enter', on: 'many', run: () => look.setShowsDetails(true) },
  {
    ...{ id: 'remove', icon: Trash2, keys: 'Delete', on: 'many', isDanger: true, isOpen: (desk) => desk.can('delete') },
    run: (desk, entries) => desk.setDialog({ kind: 'remove', entries }),
  },
  {
    id: 'uploadFiles',
    icon: Upload,
    keys: '+',
    on: 'folder',
    isOpen: (desk) => desk.canWrite(),
    run: (desk) => chooseFiles(desk, false),
  },
  { id: 'uploadFolder', icon: Upload, on: 'folder', isOpen: (desk) => desk.canWrite(), run: (desk) => chooseFiles(desk, true) },
  {
    ...{ id: 'newFolder', icon: FolderPlus, keys: 'F7', on: 'folder', isOpen: (desk) => desk.canWrite() },
    run: (desk) => desk.setDialog({ kind: 'new-folder' }),
  },
  {
    ...{ id: 'newFile', icon: FilePlus, on: 'folder', isOpen: (desk) => desk.canWrite() },
    run: (desk) => desk.setDialog({ kind: 'new-file' }),
  },
  { id: 'paste', icon: ClipboardPaste, keys: 'Ctrl+v', on: 'folder', isOpen: (desk) => desk.clipboard() !== undefined, run: paste },
  { id: 'selectAll', icon: SquareCheck, keys: 'Ctrl+a', on: 'folder', run: selectAll },
  { id: 'refresh', icon: RefreshCw, keys: 'F8', on: 'folder', run: (desk) => desk.listing.refresh(desk.canWrite()) },
  {
    ...{ id: 'offlineDownload', icon: CloudDownload, on: 'folder', isOpen: (desk) => desk.canWrite() && may('offlineDownload') },
    run: (desk) => desk.setDialog({ kind: 'download' }),
  },
  {
    ...{ id: 'tasks', icon: ArrowDownUp, keys: 'F9', on: 'folder', isOpen: () => !isGuest() },
    run: (desk) => desk.setDialog({ kind: 'tasks' }),
  },
  { id: 'find', icon: Search, keys: '/', on: 'folder', run: (desk) => desk.setDialog({ kind: 'find' }) },
  { id: 'help', icon: Keyboard, keys: '?', on: 'folder', run: (desk) => desk.setDialog({ kind: 'help' }) },
];

/** The actions that are offered for these entries; for none of them, those of the folder. */
export function offeredActions(desk: Desk, entries: readonly Entry[]): readonly Action[] {
  const isFor = ({ on }: Action) => (entries.length === 0 ? on === 'folder' : on === 'many' || (on === 'one' && entries.length === 1));
  return ACTIONS.filter((action) => isFor(action) && (action.isOpen?.(desk, entries) ?? true));
}

/** The action that a key stands for now. */
export function actionOf(desk: Desk, entries: readonly Entry[], event: KeyboardEvent): Action | undefined {
  const held = event.ctrlKey || event.metaKey ? 'Ctrl+' : event.altKey ? 'Alt+' : '';
  const pressed = held + (held === 'Ctrl+' ? event.key.toLowerCase() : event.key);
  return [...offeredActions(desk, entries), ...offeredActions(desk, [])].find(({ keys }) => keys === pressed);
}

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** A key as people know it. */
export function showKeys(keys: string): string {
  const words: Readonly<Record<string, string>> = {
    Enter: '↵',
    Delete: 'Del',
    Insert: 'Ins',
    Ctrl: isMac ? '⌘' : 'Ctrl',
    Alt: isMac ? '⌥' : 'Alt',
  };
  if (keys.length === 1) return keys;
  return keys
    .split('+')
    .map((key) => words[key] ?? key.toUpperCase())
    .join(isMac ? '' : '+');
}

/** The address of a file's bytes for this viewer. @param route `p`: through this server always, where the storage and the kind of file allow that */
export function bytesOf(desk: Desk, { name, sign }: { name: string; sign: string }, route: 'd' | 'p' = 'd'): string {
  return bytesAddress(me.latest?.base_path ?? '/', joinPath(desk.folder(), name), sign, route);
}

/** One by one; the browser keeps the names. */
export function downloadAll(desk: Desk, entries: readonly Entry[]): void {
  // Another folder may be open by the time the last one begins.
  const files = entries.filter((each) => !each.is_dir).map((entry) => ({ address: bytesOf(desk, entry), name: entry.name }));
  for (const [index, { address, name }] of files.entries())
    setTimeout(() => {
      const link = document.createElement('a');
      link.href = address;
      link.download = name;
      link.click();
      // Browsers drop downloads that begin at the same moment.
    }, index * 400);
}

/** Of a folder its page, of a file its bytes. */
export async function copyLink(desk: Desk, [entry]: readonly Entry[]): Promise<void> {
  if (!entry) return;
  const address = entry.is_dir ? addressOf(joinPath(desk.folder(), entry.name)) : bytesOf(desk, entry);
  const isCopied = await copyText(location.origin + address);
  notify(t(isCopied ? 'linkCopied' : 'linkNotCopied'), { isBad: !isCopied });
}

/** Pages that came by plain HTTP have no clipboard of the newer kind. */
async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard)
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  return isDone;
}

function paste(desk: Desk): unknown {
  const held = desk.clipboard();
  if (!held) return undefined;
  if (held.folder === desk.folder()) return notify(t('pasteHere'));
  return desk.bring(held, desk.folder(), 'refuse');
}

async function selectAll(desk: Desk): Promise<void> {
  desk.selection.choose((await desk.listing.all()).map(({ name }) => name));
}
