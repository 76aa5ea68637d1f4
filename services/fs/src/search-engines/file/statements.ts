import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Row } from './row.ts';

/** Prepared statements of one connection, by their text. */
export interface Statements {
  run(sql: string, ...values: SQLInputValue[]): { changes: number; id: number };
  first(sql: string, ...values: SQLInputValue[]): Row | undefined;
  all(sql: string, ...values: SQLInputValue[]): Row[];
  /** Has a statement of its own, so that several may be under way. Leaving the loop early ends it. */
  each(sql: string, ...values: SQLInputValue[]): Iterable<Row>;
  /** Forgets what was prepared: the tables are others now. */
  reset(): void;
}

export function createStatements(database: DatabaseSync): Statements {
  const prepared = new Map<string, StatementSync>();
  const fresh = (sql: string): StatementSync => {
    const statement = database.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  };
  const prepare = (sql: string): StatementSync => {
    const known = prepared.get(sql) ?? fresh(sql);
    prepared.set(sql, known);
    return known;
  };
  return {
    run(sql, ...values) {
      const { changes, lastInsertRowid } = prepare(sql).run(...values);
      return { changes: Number(changes), id: Number(lastInsertRowid) };
    },
    // Statements that return arrays are typed as if they returned objects.
    first: (sql, ...values) => prepare(sql).get(...values) as unknown as Row | undefined,
    all: (sql, ...values) => prepare(sql).all(...values) as unknown as Row[],
    each: (sql, ...values) => fresh(sql).iterate(...values) as unknown as Iterable<Row>,
    reset: () => prepared.clear(),
  };
}
