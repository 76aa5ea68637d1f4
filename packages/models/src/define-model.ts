import { type Connection, type Model, Schema, type SchemaDefinition } from 'mongoose';

export const text = { type: String, default: '' };
export const number = { type: Number, default: 0 };
export const flag = { type: Boolean, default: false };
export const required = <Type>(type: Type) => ({ type, required: true });

/**
 * The model of a collection; a second call for a connection answers the same one. Names of our own fields end in no version key and no
 * generated id: records are exactly what their type says.
 */
export function defineModel<Record>(
  connection: Connection,
  name: string,
  definition: SchemaDefinition,
  index?: (schema: Schema) => void,
): Model<Record> {
  const known = connection.models[name];
  if (known) return known as Model<Record>;
  const schema = new Schema(definition, { collection: name, versionKey: false, minimize: false, strict: 'throw' });
  index?.(schema);
  return connection.model(name, schema) as unknown as Model<Record>;
}
