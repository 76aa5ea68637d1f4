import { createSignal } from 'solid-js';
import { addressOf, joinPath, nameOf, parentOf, pathAt } from './files/tree-path.ts';

/** What the page shows: a folder, and a file of it where one is looked at. */
export interface Place {
  readonly folder: string;
  readonly file: string | undefined;
}

/** A page beside the files, at an address such as `/@admin/users`. */
export type Area = 'account' | 'admin';
export interface AreaPage {
  readonly area: Area;
  /** Empty: the first one. */
  readonly section: string;
}

function pageNow(): AreaPage | undefined {
  const found = /^\/@(account|admin)(?:\/([a-z-]*))?$/.exec(location.pathname);
  return found ? { area: found[1] as Area, section: found[2] ?? '' } : undefined;
}

/** An address does not tell a file from a folder; the entry of the history does, and a failed listing. */
function placeNow(): Place {
  if (pageNow()) return { folder: '/', file: undefined };
  const path = pathAt(location.pathname);
  const isFile: unknown = typeof history.state === 'object' && history.state !== null && Reflect.get(history.state, 'isFile');
  return isFile === true ? { folder: parentOf(path), file: nameOf(path) } : { folder: path, file: undefined };
}

const [place, setPlace] = createSignal<Place>(placeNow(), {
  equals: (left, right) => left.folder === right.folder && left.file === right.file,
});
const [page, setPage] = createSignal(pageNow(), {
  equals: (left, right) => left?.area === right?.area && left?.section === right?.section,
});
/** Asks before what is shown is left; true: it asks, and goes itself once it may. */
type Guard = (go: () => void) => boolean;
let guard: Guard | undefined;
/** The entry of the history that a guard keeps. */
let guarded = { state: {} as unknown, address: '' };

/** Has whoever shows something asked before it is left, by a link, a key or the browser's buttons. @returns what ends that */
export function guardLeaving(ask: Guard): () => void {
  guard = ask;
  guarded = { state: history.state, address: location.href };
  return () => {
    if (guard === ask) guard = undefined;
  };
}

function leave(go: () => void): void {
  if (guard?.(go) !== true) go();
}

/** While a page is shown, the folder stays what it was. */
addEventListener('popstate', () => {
  // The browser has gone already: it is brought back, with where it went just before.
  if (guard?.(() => history.back()) === true) return history.pushState(guarded.state, '', guarded.address);
  const next = pageNow();
  setPage(next);
  if (!next) setPlace(placeNow());
});

export { page, place };

export function addressOfPage(area: Area, section: string): string {
  return `/@${area}${section === '' ? '' : `/${section}`}`;
}

/** What a link of the page does when it is clicked: the page follows it by itself; with a key held, the browser does. */
export function follow(open: () => void): (event: MouseEvent) => void {
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  };
}

export function openPage(area: Area, section = ''): void {
  const address = addressOfPage(area, section);
  if (address === location.pathname) return;
  leave(() => {
    history.pushState({}, '', address);
    setPage(pageNow());
  });
}

export function openFolder(path: string): void {
  if (path === place().folder && place().file === undefined && page() === undefined) return;
  leave(() => {
    history.pushState({}, '', addressOf(path));
    setPage();
    setPlace(placeNow());
  });
}

/** Going from file to file is one step back to the folder. */
export function openFile(folder: string, file: string): void {
  const address = addressOf(joinPath(folder, file));
  leave(() => {
    if (place().file === undefined) history.pushState({ isFile: true, isOnTop: true }, '', address);
    else history.replaceState({ ...history.state, isFile: true }, '', address);
    setPlace(placeNow());
  });
}

/** Back to the folder that the file is in. */
export function closeFile(): void {
  leave(() => {
    if (Reflect.get(history.state ?? {}, 'isOnTop') === true) return history.back();
    history.replaceState({}, '', addressOf(place().folder));
    setPlace(placeNow());
  });
}

/** The address that was opened is a file. In full: a path that begins with `//` would be one of another site. */
export function becomeFile(): void {
  history.replaceState({ isFile: true }, '', location.href);
  setPlace(placeNow());
}
