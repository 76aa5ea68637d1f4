import type { VirtualPath } from '@wharf/paths';
import { PathTree } from '../../domain/access/path-tree.ts';
import { FIRST_STATE, type IndexedFolder, type IndexState, type Territory } from '../../domain/search/search-index.ts';
import { IN_SUBTREE, subtree } from './index-tables.ts';
import { numberAt, pathAt, textAt } from './row.ts';
import type { Statements } from './statements.ts';

/** The operations on the folders that are still to be indexed, and on the state of the job that does it. */
export function createQueueOperations(sql: Statements, addFolder: (path: VirtualPath, depth: number, generation: number) => unknown) {
  let isOwned = territoryOf([]);
  sql.define('is_owned', (path) => isOwned(path as VirtualPath));
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
      isOwned = territoryOf(except);
      const rows = sql.all('SELECT path, depth FROM folders WHERE queued = ? AND NOT is_owned(path) LIMIT ?', generation, limit);
      return rows.map((row) => ({ path: pathAt(row, 0), depth: numberAt(row, 1) }));
    },

    settle(paths: readonly VirtualPath[]): void {
      for (const path of paths) sql.run('UPDATE folders SET queued = NULL WHERE path = ?', path);
    },

    settleAll(territory: Territory): void {
      isOwned = territoryOf([territory]);
      sql.run('UPDATE folders SET queued = NULL WHERE queued IS NOT NULL AND is_owned(path)');
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

/** Whether a path belongs to one of some storages, by the nearest of the places at or above it: SQL would compare each path with each place. */
function territoryOf(territories: readonly Territory[]): (path: VirtualPath) => boolean {
  const places = new PathTree<boolean>();
  for (const { without } of territories) for (const place of without) places.set(place, false);
  for (const { place } of territories) places.set(place, true);
  return (path) => places.nearest(path) === true;
}
