import { type Connection, type IndexDefinition, type IndexOptions, type Model, Schema } from 'mongoose';
import { definitionsOf, type Fields, type RecordOf } from './fields.ts';

/** A collection of the store: what a record has, and what is found quickly. */
export interface Collection<Shape extends Fields> {
  readonly name: string;
  readonly fields: Shape;
  readonly indexes: readonly (readonly [IndexDefinition, IndexOptions?])[];
}

/** Declares a collection once: its records' type is `RecordOf<typeof fields>`. */
export function defineCollection<const Shape extends Fields>(
  name: string,
  fields: Shape,
  ...indexes: Collection<Shape>['indexes']
): Collection<Shape> {
  return { name, fields, indexes };
}

/**
 * The model of a collection; a second call for a connection answers the same one. There is no version key and no generated id: records are
 * exactly what their type says.
 */
export function modelOf<Shape extends Fields>(
  connection: Connection,
  { name, fields, indexes }: Collection<Shape>,
): Model<RecordOf<Shape>> {
  const known = connection.models[name];
  if (known) return known as Model<RecordOf<Shape>>;
  const schema = new Schema(definitionsOf(fields), { collection: name, versionKey: false, minimize: false, strict: 'throw' });
  for (const [keys, options] of indexes) schema.index(keys, options);
  return connection.model(name, schema) as unknown as Model<RecordOf<Shape>>;
}
