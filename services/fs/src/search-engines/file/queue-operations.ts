import type { VirtualPath } from '@wharf/paths';
import { FIRST_STATE, type IndexedFolder, type IndexState, type Territory } from '../../domain/search/search-index.ts';
import { IN_SUBTREE, subtree } from './index-tables.ts';
import { numberAt, pathAt, textAt } from './row.ts';
import type { Statements } from './statements.ts';

/** The operations on the folders that are still to be indexed, and on the state of the job that does it. */
export function createQueueOperations(sql: Statements, addFolder: (path: VirtualPath, depth: number, generation: number) => unknown) {
  return {
    openFolder(path: VirtualPath, depth: number, generation: number): void {
      addFolder(path, depth, generation);
      sql.run('UPDATE folders SET depth = ?, queued = ? WHERE path = ?', depth, depth === 0 ? null : generation, path);
    },

    requeue(path: VirtualPath, generation: number, isDeep: boolean): void {
      const set = 'UPDATE folders SET queued = ? WHERE depth <> 0 AND';
      if (isDeep) sql.run(`${set} ${IN_SUBTREE}`, generation, ...subtree(path));
      else sql.run(`${set} path = ?`, generation, path);
    },

    queued(generation: number, limit: number, except: readonly Territory[]): readonly IndexedFolder[] {
      const [left, places] = leftOut(except);
      const rows = sql.all(`SELECT path, depth FROM folders WHERE queued = ?${left} LIMIT ?`, generation, ...places, limit);
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
  };
}

function readState(sql: Statements): IndexState {
  const row = sql.first('SELECT body FROM state WHERE id = 1');
  // Written by replaceState only; JSON leaves out what is undefined.
  return row ? { ...FIRST_STATE, ...(JSON.parse(textAt(row, 0)) as IndexState) } : FIRST_STATE;
}

/** The condition that leaves storages out, with its parameters. */
function leftOut(except: readonly Territory[]): [string, (string | number)[]] {
  const conditions = except.map(({ without }) => {
    const others = without.map(() => IN_SUBTREE).join(' OR ');
    return ` AND NOT (${IN_SUBTREE}${others && ` AND NOT (${others})`})`;
  });
  return [conditions.join(''), except.flatMap(({ place, without }) => [place, ...without].flatMap(subtree))];
}
