import type { Fields, RecordOf } from './fields.ts';

/** What is read of a record that anybody may have damaged: a hand, a tool, a restore. */
export interface ReadRecord<Shape extends Fields> {
  /** Each field is of its type: what is missing, or is something else, is empty. */
  readonly record: RecordOf<Shape>;
  /** The fields that are empty for that, and not harmless: what was decided by them is not known. */
  readonly odd: readonly (keyof Shape & string)[];
}

/** Reads what is stored by the fields that it should have. The same object, where it has them. */
export function readRecord<Shape extends Fields>(fields: Shape, stored: object): ReadRecord<Shape> {
  const given = stored as Readonly<Record<string, unknown>>;
  let read: Record<string, unknown> | undefined;
  let odd: readonly (keyof Shape & string)[] = [];
  // Tens of thousands of records are read at a time: a list of the names for each takes many times as long.
  for (const name in fields) {
    const field = fields[name];
    if (!field || field.is(given[name])) continue;
    read ??= { ...stored };
    read[name] = field.empty;
    if (!field.isHarmless) odd = [...odd, name];
  }
  return { record: (read ?? stored) as RecordOf<Shape>, odd };
}
