import { createSignal } from 'solid-js';
import { addressOf, joinPath, nameOf, parentOf, pathAt } from './files/tree-path.ts';

/** What the page shows: a folder, and a file of it where one is looked at. */
export interface Place {
  readonly folder: string;
  readonly file: string | undefined;
}

/** An address does not tell a file from a folder; the entry of the history does, and a failed listing. */
function placeNow(): Place {
  const path = pathAt(location.pathname);
  const isFile: unknown = typeof history.state === 'object' && history.state !== null && Reflect.get(history.state, 'isFile');
  return isFile === true ? { folder: parentOf(path), file: nameOf(path) } : { folder: path, file: undefined };
}

const [place, setPlace] = createSignal<Place>(placeNow(), {
  equals: (left, right) => left.folder === right.folder && left.file === right.file,
});
addEventListener('popstate', () => setPlace(placeNow()));

export { place };

export function openFolder(path: string): void {
  if (path === place().folder && place().file === undefined) return;
  history.pushState({}, '', addressOf(path));
  setPlace(placeNow());
}

/** Going from file to file is one step back to the folder. */
export function openFile(folder: string, file: string): void {
  const address = addressOf(joinPath(folder, file));
  if (place().file === undefined) history.pushState({ isFile: true, isOnTop: true }, '', address);
  else history.replaceState({ ...history.state, isFile: true }, '', address);
  setPlace(placeNow());
}

/** Back to the folder that the file is in. */
export function closeFile(): void {
  if (Reflect.get(history.state ?? {}, 'isOnTop') === true) return void history.back();
  history.replaceState({}, '', addressOf(place().folder));
  setPlace(placeNow());
}

/** The address that was opened is a file. */
export function becomeFile(): void {
  history.replaceState({ isFile: true }, '', location.pathname);
  setPlace(placeNow());
}
