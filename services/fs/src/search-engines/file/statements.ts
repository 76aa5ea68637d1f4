import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Row } from './row.ts';

/** Prepared statements of one connection, by their text. */
export interface Statements {
  run(sql: string, ...values: SQLInputValue[]): { changes: number; id: number };
  first(sql: string, ...values: SQLInputValue[]): Row | undefined;
  all(sql: string, ...values: SQLInputValue[]): Row[];
  /** Has a statement of its own, so that several may be under way. Leaving the loop early ends it. */
  each(sql: string, ...values: SQLInputValue[]): Rows;
  /** Ends all that `each` is answering. As long as any is under way, all of this connection see what was there when the first of them began. */
  cut(): void;
  /** Forgets what was prepared: the tables are others now. */
  reset(): void;
}

/** What `each` answers, once. */
export interface Rows extends Iterable<Row> {
  /** Whether there may be more: it was cut. */
  wasCut(): boolean;
}

export function createStatements(database: DatabaseSync): Statements {
  const prepared = new Map<string, StatementSync>();
  const underWay = new Set<{ cut(): void }>();
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
    each(sql, ...values) {
      const rows = fresh(sql).iterate(...values) as unknown as IterableIterator<Row>;
      let wasCut = false;
      const run = {
        cut() {
          wasCut = true;
          rows.return?.();
        },
      };
      underWay.add(run);
      return {
        *[Symbol.iterator]() {
          try {
            yield* rows;
          } finally {
            underWay.delete(run);
          }
        },
        wasCut: () => wasCut,
      };
    },
    cut() {
      for (const run of underWay) run.cut();
      underWay.clear();
    },
    reset: () => prepared.clear(),
  };
}
