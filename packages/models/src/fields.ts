import { Schema, type SchemaDefinition, type SchemaDefinitionProperty } from 'mongoose';

/** What a field is to mongoose, and the type of its values. */
export interface Field<Value> {
  readonly definition: SchemaDefinitionProperty;
  /** Whether what is stored is one. */
  readonly is: (stored: unknown) => boolean;
  /** What is read where it is none. */
  readonly empty: unknown;
  /** The empty one opens nothing and closes nothing: where it is read in the place of another one, the record counts as whole. */
  readonly isHarmless?: true;
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

const field = <Value>(definition: SchemaDefinitionProperty, is: Field<Value>['is'], empty?: Value): Field<Value> => ({
  definition,
  is,
  empty,
});

const isText = (stored: unknown) => typeof stored === 'string';
const isNumber = (stored: unknown) => Number.isFinite(stored);
const isFlag = (stored: unknown) => typeof stored === 'boolean';
const isDate = (stored: unknown) => stored instanceof Date && !Number.isNaN(stored.getTime());
const isAny = () => true;
const isObject = (stored: unknown) => typeof stored === 'object' && stored !== null && !Array.isArray(stored);
const listOf = (is: (stored: unknown) => boolean) => (stored: unknown) => Array.isArray(stored) && stored.every(is);
const nullOr = (is: (stored: unknown) => boolean) => (stored: unknown) => stored === null || is(stored);

/** Written as empty, 0, false or an empty list where nothing is given. */
export const text = field<string>({ type: String, default: '' }, isText, '');
export const number = field<number>({ type: Number, default: 0 }, isNumber, 0);
export const flag = field<boolean>({ type: Boolean, default: false }, isFlag, false);
export const texts = field<string[]>([String], listOf(isText), []);
export const numbers = field<number[]>([Number], listOf(isNumber), []);

/** As long as a path of the tree may be, in characters. */
const MAX_PATH_LENGTH = 4096;

/** Refused where nothing is given. */
export const required = {
  text: field<string>({ type: String, required: true }, isText, ''),
  /** Of the tree. Where none can be read: the root, above all that it may have been. */
  path: field<string>(
    { type: String, required: true },
    (stored) => typeof stored === 'string' && stored.startsWith('/') && stored.length <= MAX_PATH_LENGTH,
    '/',
  ),
  number: field<number>({ type: Number, required: true }, isNumber, 0),
  flag: field<boolean>({ type: Boolean, required: true }, isFlag, false),
  date: field<Date>({ type: Date, required: true }, isDate, new Date(0)),
} as const;

/** Null where nothing is given. */
export const orNull = {
  number: field<number | null>({ type: Number, default: null }, nullOr(isNumber), null),
  date: field<Date | null>({ type: Date, default: null }, nullOr(isDate), null),
} as const;

/** Records of older versions lack it. */
export const addedLater = <Value>({ definition, is }: Field<Value>): OptionalField<Value> => ({
  definition,
  is: (stored) => stored === undefined || is(stored),
  empty: undefined,
  isOptional: true,
});

const optionalField = <Value>(definition: SchemaDefinitionProperty, is: Field<Value>['is']) => addedLater(field<Value>(definition, is));

/** Absent where nothing is given. */
export const optional = {
  text: optionalField<string>(String, isText),
  number: optionalField<number>(Number, isNumber),
  flag: optionalField<boolean>(Boolean, isFlag),
  date: optionalField<Date>(Date, isDate),
} as const;

/** An object of this type, which fs or whoever writes it takes apart. Absent where nothing is given. */
export const optionalData = <Value>(): OptionalField<Value> => optionalField(Schema.Types.Mixed, isAny);

/** Nothing is decided by it that keeps anybody from anything. */
export const harmless = <Given extends Field<unknown>>(given: Given): Given => ({ ...given, isHarmless: true });

/** The same: where it cannot be read there is one that nothing opens. */
export const sealedText: Field<string> = { ...text, empty: 'unreadable', isHarmless: true };

/** The id of the one record of its collection. */
export const only = <const Id extends string>(_id: Id): Field<Id> => field<Id>(required.text.definition, (stored) => stored === _id, _id);

/** A list of records within the record. */
export const records = <const Shape extends Fields>(fields: Shape): Field<RecordOf<Shape>[]> =>
  field([new Schema(definitionsOf(fields), { _id: false })], listOf(isObject), []);

/** An object whose keys are data. */
export const byKey = <Value>(): Field<Record<string, Value>> => field({ type: Schema.Types.Mixed, default: {} }, isObject, {});

/** The fields as mongoose takes them. */
export function definitionsOf(fields: Fields): SchemaDefinition {
  return Object.fromEntries(Object.entries(fields).map(([name, { definition }]) => [name, definition]));
}
