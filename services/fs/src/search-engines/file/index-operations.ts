import { baseName, childPath, type EntryName, isWithin, parentPath, type VirtualPath } from '@wharf/paths';
import { depthBelow, FIRST_STATE, type IndexedEntry, type IndexedFolder, type IndexState } from '../../domain/search/search-index.ts';
import { nameAt, numberAt, pathAt, textAt } from './row.ts';
import { emptyTables, type IndexFile } from './schema.ts';
import { createStatements, type Statements } from './statements.ts';

/** Work in steps: between two of them a commit and whatever else waits may come. */
export type Steps<Result> = Generator<void, Result, void>;

/** Entries that one step handles. */
const STEP_ENTRIES = 500;

/** A folder and everything below it; its four parameters come from `subtree`. */
const IN_SUBTREE = '(path = ? OR (path >= ? AND path < ?) OR ?)';

/**
 * The operations on the tables, to be run one after the other on the writing connection, inside transactions of the caller.
 * They are those of `SearchIndex` under the same names.
 */
export function createIndexOperations({ writer }: IndexFile) {
  const sql = createStatements(writer);
  let counted: number | undefined;

  const folderAt = (path: VirtualPath): { id: number; depth: number } | undefined => {
    const row = sql.first('SELECT id, depth FROM folders WHERE path = ?', path);
    return row && { id: numberAt(row, 0), depth: numberAt(row, 1) };
  };
  const addCount = (difference: number) => {
    if (counted !== undefined) counted += difference;
  };
  const dropEntry = (id: number) => {
    sql.run('DELETE FROM grams WHERE rowid = ?', id);
    sql.run('DELETE FROM entries WHERE id = ?', id);
    addCount(-1);
  };
  function* dropTree(path: VirtualPath): Steps<void> {
    for (;;) {
      const folder = sql.first(`SELECT id FROM folders WHERE ${IN_SUBTREE} LIMIT 1`, ...subtree(path));
      if (!folder) return;
      const id = numberAt(folder, 0);
      const entries = sql.all('SELECT id FROM entries WHERE folder = ? LIMIT ?', id, STEP_ENTRIES);
      for (const entry of entries) dropEntry(numberAt(entry, 0));
      if (entries.length < STEP_ENTRIES) sql.run('DELETE FROM folders WHERE id = ?', id);
      yield;
    }
  }
  const addFolder = (path: VirtualPath, depth: number, generation: number) =>
    sql.run('INSERT OR IGNORE INTO folders (path, depth, queued) VALUES (?, ?, ?)', path, depth, depth === 0 ? null : generation);

  return {
    count(): number {
      counted ??= numberAt(sql.first('SELECT count(*) FROM entries') ?? [0], 0);
      return counted;
    },

    findFolder(path: VirtualPath): IndexedFolder | undefined {
      const folder = folderAt(path);
      return folder && { path, depth: folder.depth };
    },

    children(directory: VirtualPath): ReadonlyMap<EntryName, boolean> {
      const rows = sql.all('SELECT name, is_directory FROM entries WHERE folder = (SELECT id FROM folders WHERE path = ?)', directory);
      return new Map(rows.map((row) => [nameAt(row, 0), numberAt(row, 1) === 1]));
    },

    *put(directory: VirtualPath, entries: readonly IndexedEntry[], generation: number): Steps<void> {
      for (let start = 0; start < entries.length; start += STEP_ENTRIES) {
        const folder = folderAt(directory);
        if (!folder) return;
        for (const { name, isDirectory, sizeBytes, isLink } of entries.slice(start, start + STEP_ENTRIES)) {
          const known = sql.first('SELECT id, is_directory, size_bytes FROM entries WHERE folder = ? AND name = ?', folder.id, name);
          const size = wholeSize(sizeBytes);
          if (!known) {
            const { id } = sql.run(
              'INSERT INTO entries (folder, name, is_directory, size_bytes) VALUES (?, ?, ?, ?)',
              ...[folder.id, name, Number(isDirectory), size],
            );
            sql.run('INSERT INTO grams (rowid, name) VALUES (?, ?)', id, name);
            addCount(1);
          } else if (numberAt(known, 1) !== Number(isDirectory) || numberAt(known, 2) !== size)
            sql.run('UPDATE entries SET is_directory = ?, size_bytes = ? WHERE id = ?', Number(isDirectory), size, numberAt(known, 0));
          const path = childPath(directory, name);
          if (isDirectory) addFolder(path, isLink ? 0 : depthBelow(folder.depth), generation);
          else if (known && numberAt(known, 1) === 1) yield* dropTree(path);
        }
        yield;
      }
    },

    *remove(directory: VirtualPath, names: readonly EntryName[]): Steps<void> {
      const folder = folderAt(directory);
      for (const [position, name] of names.entries()) {
        const entry = folder && sql.first('SELECT id FROM entries WHERE folder = ? AND name = ?', folder.id, name);
        if (entry) dropEntry(numberAt(entry, 0));
        yield* dropTree(childPath(directory, name));
        if (position % STEP_ENTRIES === STEP_ENTRIES - 1) yield;
      }
    },

    *move(from: VirtualPath, to: VirtualPath): Steps<boolean> {
      const [oldName, newName] = [baseName(from), baseName(to)];
      const [oldParent, newParent] = [folderAt(parentPath(from)), folderAt(parentPath(to))];
      if (oldName === undefined || newName === undefined || !oldParent || !newParent || isWithin(from, to)) return false;
      const find = 'SELECT id, is_directory FROM entries WHERE folder = ? AND name = ?';
      const entry = sql.first(find, oldParent.id, oldName);
      if (!entry || numberAt(entry, 1) !== 1 || !folderAt(from) || sql.first(find, newParent.id, newName)) return false;
      yield* dropTree(to);
      const id = numberAt(entry, 0);
      sql.run('UPDATE entries SET folder = ?, name = ? WHERE id = ?', newParent.id, newName, id);
      if (oldName !== newName) {
        sql.run('DELETE FROM grams WHERE rowid = ?', id);
        sql.run('INSERT INTO grams (rowid, name) VALUES (?, ?)', id, newName);
      }
      sql.run(`UPDATE folders SET path = ? || substr(path, length(?) + 1) WHERE ${IN_SUBTREE}`, to, from, ...subtree(from));
      return true;
    },

    clear(): void {
      emptyTables(writer);
      sql.reset();
      counted = undefined;
    },

    openFolder(path: VirtualPath, depth: number, generation: number): void {
      addFolder(path, depth, generation);
      sql.run('UPDATE folders SET depth = ?, queued = ? WHERE path = ?', depth, depth === 0 ? null : generation, path);
    },

    requeue(path: VirtualPath, generation: number, isDeep: boolean): void {
      const set = 'UPDATE folders SET queued = ? WHERE depth <> 0 AND';
      if (isDeep) sql.run(`${set} ${IN_SUBTREE}`, generation, ...subtree(path));
      else sql.run(`${set} path = ?`, generation, path);
    },

    queued(generation: number, limit: number): readonly IndexedFolder[] {
      const rows = sql.all('SELECT path, depth FROM folders WHERE queued = ? LIMIT ?', generation, limit);
      return rows.map((row) => ({ path: pathAt(row, 0), depth: numberAt(row, 1) }));
    },

    settle(paths: readonly VirtualPath[], isDeep = false): void {
      for (const path of paths)
        if (isDeep) sql.run(`UPDATE folders SET queued = NULL WHERE queued IS NOT NULL AND ${IN_SUBTREE}`, ...subtree(path));
        else sql.run('UPDATE folders SET queued = NULL WHERE path = ?', path);
    },

    readState(): IndexState {
      return readState(sql);
    },

    replaceState(next: IndexState): boolean {
      if (readState(sql).revision !== next.revision) return false;
      const body = JSON.stringify({ ...next, revision: next.revision + 1 });
      sql.run('INSERT OR REPLACE INTO state (id, revision, body) VALUES (1, ?, ?)', next.revision + 1, body);
      return true;
    },

    /** A transaction was taken back: what is remembered of it holds no more. */
    forget(): void {
      counted = undefined;
      sql.reset();
    },
  };
}

export type IndexOperations = Omit<ReturnType<typeof createIndexOperations>, 'forget'>;

function readState(sql: Statements): IndexState {
  const row = sql.first('SELECT body FROM state WHERE id = 1');
  // Written by replaceState only; JSON leaves out what is undefined.
  return row ? { ...FIRST_STATE, ...(JSON.parse(textAt(row, 0)) as IndexState) } : FIRST_STATE;
}

/** "0" follows "/" in the order of bytes. */
function subtree(path: VirtualPath): [string, string, string, number] {
  return path === '/' ? ['/', '/', '/', 1] : [path, `${path}/`, `${path}0`, 0];
}

function wholeSize(sizeBytes: number): number {
  return Number.isFinite(sizeBytes) ? Math.min(Math.max(0, Math.trunc(sizeBytes)), Number.MAX_SAFE_INTEGER) : 0;
}
