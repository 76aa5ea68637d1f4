import { childPath, type EntryName, type VirtualPath } from '@wharf/paths';
import { CHILDREN, depthBelow, type IndexedEntry, type IndexedFolder } from '../../domain/search/search-index.ts';
import { createIndexTables, STEP_ENTRIES, type Steps } from './index-tables.ts';
import { moveFolder } from './move-folder.ts';
import { createQueueOperations } from './queue-operations.ts';
import { nameAt, numberAt } from './row.ts';
import { emptyTables, type IndexFile } from './schema.ts';
import { createStatements } from './statements.ts';

/**
 * The operations on the tables, to be run one after the other on the writing connection, inside transactions of the caller.
 * They are those of `SearchIndex` under the same names.
 */
export function createIndexOperations({ writer }: IndexFile) {
  const sql = createStatements(writer);
  const tables = createIndexTables(sql);
  const { folderAt, addCount, dropEntry, dropTree, addFolder } = tables;
  return {
    count: tables.count,

    findFolder(path: VirtualPath): IndexedFolder | undefined {
      const folder = folderAt(path);
      return folder && { path, depth: folder.depth };
    },

    children(directory: VirtualPath, after?: EntryName): ReadonlyMap<EntryName, boolean> {
      const rows = sql.all(
        'SELECT name, is_directory FROM entries WHERE folder = (SELECT id FROM folders WHERE path = ?) AND name > ? ORDER BY name LIMIT ?',
        ...[directory, after ?? '', CHILDREN],
      );
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
        yield* dropTree(childPath(directory, name));
        // Last: by it, what a crash has left is found, and removed.
        const entry = folder && sql.first('SELECT id FROM entries WHERE folder = ? AND name = ?', folder.id, name);
        if (entry) dropEntry(numberAt(entry, 0));
        if (position % STEP_ENTRIES === STEP_ENTRIES - 1) yield;
      }
    },

    move: (from: VirtualPath, to: VirtualPath): Steps<boolean> => moveFolder(sql, tables, from, to),

    clear(): void {
      emptyTables(writer);
      sql.reset();
      tables.forgetCount();
    },

    ...createQueueOperations(sql, tables),

    /** A transaction was taken back: what is remembered of it holds no more. */
    forget(): void {
      tables.forgetCount();
      sql.reset();
    },
  };
}

export type IndexOperations = Omit<ReturnType<typeof createIndexOperations>, 'forget'>;

function wholeSize(sizeBytes: number): number {
  return Number.isFinite(sizeBytes) ? Math.min(Math.max(0, Math.trunc(sizeBytes)), Number.MAX_SAFE_INTEGER) : 0;
}
