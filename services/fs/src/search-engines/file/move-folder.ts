import { baseName, isWithin, parentPath, type VirtualPath } from '@wharf/paths';
import { depthBelow, depthMoved } from '../../domain/search/search-index.ts';
import type { IndexTables, Steps } from './index-tables.ts';
import { numberAt } from './row.ts';
import type { Statements } from './statements.ts';

/** `move` of the index: a folder with all below it, in steps. */
export function* moveFolder(sql: Statements, tables: IndexTables, from: VirtualPath, to: VirtualPath): Steps<boolean> {
  const { folderAt, foldersBelow } = tables;
  const [oldName, newName] = [baseName(from), baseName(to)];
  const [oldParent, newParent, moved] = [folderAt(parentPath(from)), folderAt(parentPath(to)), folderAt(from)];
  if (oldName === undefined || newName === undefined || !oldParent || !newParent || !moved || isWithin(from, to)) return false;
  const find = 'SELECT id, is_directory FROM entries WHERE folder = ? AND name = ?';
  const entry = sql.first(find, oldParent.id, oldName);
  if (!entry || numberAt(entry, 1) !== 1 || sql.first(find, newParent.id, newName)) return false;
  if (yield* dropHalfMoved(tables, from, to)) return false;
  const depthOf = yield* depthsMoved(moved, newParent, foldersBelow(from));
  if (!depthOf) return false;
  // The topmost folder is moved last: what a crash leaves at the old place is found below it, and removed with it. Each of the others after all that it
  // holds: a folder that is at the new place is not read again.
  const place = ({ id, path, depth }: { id: number; path: VirtualPath; depth: number }) =>
    sql.run('UPDATE folders SET path = ?, depth = ? WHERE id = ?', to + path.slice(from.length), depthOf(depth), id);
  for (const folders of foldersBelow(from)) {
    for (const folder of folders) place(folder);
    yield;
  }
  place({ ...moved, path: from });
  const id = numberAt(entry, 0);
  sql.run('UPDATE entries SET folder = ?, name = ? WHERE id = ?', newParent.id, newName, id);
  if (oldName !== newName) {
    sql.run('DELETE FROM grams WHERE rowid = ?', id);
    sql.run('INSERT INTO grams (rowid, name) VALUES (?, ?)', id, newName);
  }
  return true;
}

/** What a move that did not end has left at its new place goes, after the rest at the old one: by itself that would be taken for whole. @returns whether there was any */
function* dropHalfMoved({ isAnyIn, dropTree }: IndexTables, from: VirtualPath, to: VirtualPath): Steps<boolean> {
  if (!isAnyIn(to)) return false;
  for (const place of [from, to]) yield* dropTree(place);
  return true;
}

interface Deep {
  readonly depth: number;
}

/** The depth at the new place of a folder that is moved; undefined where one of them is to be listed there. */
function* depthsMoved(moved: Deep, parent: Deep, below: Iterable<readonly Deep[]>): Steps<((depth: number) => number) | undefined> {
  const depthOf = (depth: number) => depthMoved(depth, moved.depth, depthBelow(parent.depth));
  if (depthOf(moved.depth) === undefined) return undefined;
  // Where no depth differs none needs a look.
  for (const folders of depthOf(1) === 1 ? [] : below) {
    if (folders.some(({ depth }) => depthOf(depth) === undefined)) return undefined;
    yield;
  }
  return (depth) => depthOf(depth) ?? depth;
}
