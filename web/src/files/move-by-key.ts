import { openFolder } from '../router.ts';
import type { Desk } from './desk.ts';
import { look } from './look.ts';
import { movedByGroups, movedByRows, type Rows } from './shown-window.ts';
import { parentOf } from './tree-path.ts';

/** How the entries stand: rows of rows or tiles, and how many of them are a page. */
interface Standing {
  readonly rows: Rows;
  readonly pageRows: number;
}

/** Where a key leads; undefined: it is no key that leads anywhere. @param from -1: nowhere yet */
function targetOf({ key, altKey }: KeyboardEvent, from: number, total: number, { rows, pageRows }: Standing): number | undefined {
  const last = total - 1;
  if (key === 'Home' || key === 'End') return key === 'Home' ? 0 : last;
  if (altKey && key.startsWith('Page')) return movedByGroups(rows, Math.max(0, from), key === 'PageDown' ? 1 : -1);
  const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: pageRows, PageUp: -pageRows };
  const byRows = steps[key];
  // Before anything was chosen, it begins at the first one.
  if (byRows !== undefined) return from < 0 ? (byRows > 0 ? movedByRows(rows, 0, byRows - 1) : 0) : movedByRows(rows, from, byRows);
  if (rows.columns === 1 || (key !== 'ArrowRight' && key !== 'ArrowLeft')) return undefined;
  const isOn = (key === 'ArrowRight') === (document.documentElement.dir !== 'rtl');
  return Math.min(Math.max(from + (isOn ? 1 : -1), 0), last);
}

/**
 * Arrows, pages, with Alt groups, ends, space, Escape and the way up. With the shift key the range from where it began is chosen, with Ctrl only the
 * place moves, and space chooses; alone it shows a file, or what is known of a folder.
 *
 * @returns whether the key meant any of these.
 */
export function moveByKey(
  desk: Desk,
  event: KeyboardEvent,
  { activate, ...standing }: Standing & { activate: (index: number) => void },
): boolean {
  const { listing, selection } = desk;
  const index = listing.total() > 0 ? targetOf(event, selection.active(), listing.total(), standing) : undefined;
  if (index !== undefined) {
    if (event.shiftKey) chooseRange(desk, index);
    else if (!event.ctrlKey) chooseOne(desk, index);
    activate(index);
    return true;
  }
  const entry = listing.at(selection.active());
  if (event.key === ' ' && entry) {
    if (event.ctrlKey || event.metaKey) {
      selection.toggle(entry.name);
      selection.setAnchor(selection.active());
    } else if (entry.is_dir) look.setShowsDetails(true);
    else desk.open(entry);
    return true;
  }
  if (event.key === 'Backspace') {
    openFolder(parentOf(desk.folder()));
    return true;
  }
  if (event.key === 'Escape') {
    selection.choose([]);
    return true;
  }
  return false;
}

/** Chooses one entry alone; a range goes on from it. */
export function chooseOne({ listing, selection }: Desk, index: number): void {
  const entry = listing.at(index);
  selection.choose(entry ? [entry.name] : []);
  selection.setAnchor(index);
}

/** Chooses what stands between where the range began and `index`. */
export function chooseRange({ listing, selection }: Desk, index: number): void {
  const anchor = selection.anchor() < 0 ? Math.max(0, selection.active()) : selection.anchor();
  selection.setAnchor(anchor);
  const [first, last] = anchor < index ? [anchor, index] : [index, anchor];
  const names: string[] = [];
  for (let each = first; each <= last; each += 1) {
    const entry = listing.at(each);
    if (entry) names.push(entry.name);
  }
  selection.choose(names);
}

let typed = '';
let typedAt = 0;
/** Letters that follow each other sooner are one word. */
const WORD_MS = 800;

/** Goes to the next entry that begins with what is typed. */
export function typeAhead(desk: Desk, event: KeyboardEvent, activate: (index: number) => void): void {
  if (event.key.length !== 1 || event.ctrlKey || event.metaKey || event.altKey) return;
  const { listing, selection } = desk;
  typed = event.timeStamp - typedAt < WORD_MS ? typed + event.key.toLowerCase() : event.key.toLowerCase();
  typedAt = event.timeStamp;
  const total = listing.total();
  const from = selection.active() + (typed.length > 1 ? 0 : 1);
  for (let step = 0; step < total; step += 1) {
    const index = (Math.max(0, from) + step) % total;
    if (listing.at(index)?.name.toLowerCase().startsWith(typed) !== true) continue;
    chooseOne(desk, index);
    activate(index);
    return;
  }
}
