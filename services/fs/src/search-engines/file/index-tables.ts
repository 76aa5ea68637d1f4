import type { VirtualPath } from '@wharf/paths';
import { numberAt, pathAt } from './row.ts';
import type { Statements } from './statements.ts';

/** Work in steps: between two of them a commit and whatever else waits may come. */
export type Steps<Result> = Generator<void, Result, void>;

/** Entries that one step handles. */
export const STEP_ENTRIES = 500;

/** A folder and everything below it, as the index of paths finds them; its three parameters come from `subtree`. @internal for its test */
export const IN_SUBTREE = '(path = ? OR (path > ? AND path < ?))';

/** The parameters of IN_SUBTREE. "0" follows "/" in the order of bytes. @internal for its test */
export function subtree(path: VirtualPath): [string, string, string] {
  return path === '/' ? ['/', '/', '0'] : [path, `${path}/`, `${path}0`];
}

export type IndexTables = ReturnType<typeof createIndexTables>;

/** What every operation on the tables is made of. */
export function createIndexTables(sql: Statements) {
  let counted: number | undefined;

  const folderAt = (path: VirtualPath): { id: number; depth: number } | undefined => {
    const row = sql.first('SELECT id, depth FROM folders WHERE path = ?', path);
    return row && { id: numberAt(row, 0), depth: numberAt(row, 1) };
  };
  /** Whether there is any folder of a tree. */
  const isAnyIn = (path: VirtualPath): boolean =>
    sql.first(`SELECT id FROM folders WHERE ${IN_SUBTREE} LIMIT 1`, ...subtree(path)) !== undefined;
  const addCount = (difference: number) => {
    if (counted !== undefined) counted += difference;
  };
  const dropEntry = (id: number) => {
    sql.run('DELETE FROM grams WHERE rowid = ?', id);
    sql.run('DELETE FROM entries WHERE id = ?', id);
    addCount(-1);
  };
  /** What is in a folder goes before it: after a crash half way none is known that is below one that is not. */
  function* dropTree(path: VirtualPath): Steps<void> {
    const [, start, end] = subtree(path);
    const last = 'SELECT id FROM folders WHERE path > ? AND path < ? ORDER BY path DESC LIMIT 1';
    for (;;) {
      const id = numberAt(sql.first(last, start, end) ?? [folderAt(path)?.id ?? 0], 0);
      if (id === 0) return;
      const entries = sql.all('SELECT id FROM entries WHERE folder = ? LIMIT ?', id, STEP_ENTRIES);
      for (const entry of entries) dropEntry(numberAt(entry, 0));
      if (entries.length < STEP_ENTRIES) sql.run('DELETE FROM folders WHERE id = ?', id);
      yield;
    }
  }
  /** The folders below one, some at a time: what is in a folder comes before it. */
  function* foldersBelow(path: VirtualPath): Generator<ReadonlyArray<{ id: number; path: VirtualPath; depth: number }>> {
    const [, start, end] = subtree(path);
    for (let last: string = end; ; ) {
      const find = 'SELECT id, path, depth FROM folders WHERE path > ? AND path < ? ORDER BY path DESC LIMIT ?';
      const rows = sql.all(find, start, last, STEP_ENTRIES);
      yield rows.map((row) => ({ id: numberAt(row, 0), path: pathAt(row, 1), depth: numberAt(row, 2) }));
      if (rows.length < STEP_ENTRIES) return;
      last = pathAt(rows.at(-1) ?? [], 1);
    }
  }
  const addFolder = (path: VirtualPath, depth: number, generation: number) =>
    sql.run('INSERT OR IGNORE INTO folders (path, depth, queued) VALUES (?, ?, ?)', path, depth, depth === 0 ? null : generation);

  return {
    folderAt,
    addCount,
    dropEntry,
    dropTree,
    isAnyIn,
    foldersBelow,
    addFolder,
    count(): number {
      counted ??= numberAt(sql.first('SELECT count(*) FROM entries') ?? [0], 0);
      return counted;
    },
    /** The next count asks the table. */
    forgetCount(): void {
      counted = undefined;
    },
  };
}
