import { Schema, type SchemaDefinition, type SchemaDefinitionProperty } from 'mongoose';

/** What a field is to mongoose, and the type of its values. */
export interface Field<Value> {
  readonly definition: SchemaDefinitionProperty;
  /** Only its type is there. */
  readonly value?: Value;
}

/** One that a record may lack. */
export interface OptionalField<Value> extends Field<Value> {
  readonly isOptional: true;
}

/** The fields of a record by their names in the store. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

type ValueOf<Each> = Each extends Field<infer Value> ? Value : never;
type Flat<Type> = { [Key in keyof Type]: Type[Key] };

/** The type of a record with these fields. */
export type RecordOf<Shape extends Fields> = Flat<
  { -readonly [Key in keyof Shape as Shape[Key] extends OptionalField<unknown> ? never : Key]: ValueOf<Shape[Key]> } & {
    -readonly [Key in keyof Shape as Shape[Key] extends OptionalField<unknown> ? Key : never]?: ValueOf<Shape[Key]>;
  }
>;

const field = <Value>(definition: SchemaDefinitionProperty): Field<Value> => ({ definition });
const optionalField = <Value>(definition: SchemaDefinitionProperty): OptionalField<Value> => ({ definition, isOptional: true });

/** Written as empty, 0, false or an empty list where nothing is given. */
export const text = field<string>({ type: String, default: '' });
export const number = field<number>({ type: Number, default: 0 });
export const flag = field<boolean>({ type: Boolean, default: false });
export const texts = field<string[]>([String]);
export const numbers = field<number[]>([Number]);

/** Refused where nothing is given. */
export const required = {
  text: field<string>({ type: String, required: true }),
  number: field<number>({ type: Number, required: true }),
  flag: field<boolean>({ type: Boolean, required: true }),
  date: field<Date>({ type: Date, required: true }),
} as const;

/** Null where nothing is given. */
export const orNull = {
  number: field<number | null>({ type: Number, default: null }),
  date: field<Date | null>({ type: Date, default: null }),
} as const;

/** Absent where nothing is given. */
export const optional = {
  text: optionalField<string>(String),
  number: optionalField<number>(Number),
  flag: optionalField<boolean>(Boolean),
  date: optionalField<Date>(Date),
} as const;

/** An object of this type, which fs or whoever writes it takes apart. Absent where nothing is given. */
export const optionalData = <Value>(): OptionalField<Value> => optionalField(Schema.Types.Mixed);

/** Records of older versions lack it. */
export const addedLater = <Value>({ definition }: Field<Value>): OptionalField<Value> => ({ definition, isOptional: true });

/** The id of the one record of its collection. */
export const only = <const Id extends string>(_id: Id): Field<Id> => field<Id>(required.text.definition);

/** A list of records within the record. */
export const records = <const Shape extends Fields>(fields: Shape): Field<RecordOf<Shape>[]> =>
  field([new Schema(definitionsOf(fields), { _id: false })]);

/** An object whose keys are data. */
export const byKey = <Value>(): Field<Record<string, Value>> => field({ type: Schema.Types.Mixed, default: {} });

/** The fields as mongoose takes them. */
export function definitionsOf(fields: Fields): SchemaDefinition {
  return Object.fromEntries(Object.entries(fields).map(([name, { definition }]) => [name, definition]));
}
