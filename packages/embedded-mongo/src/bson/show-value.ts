import { Binary, BSONRegExp, ObjectId } from 'bson';
import { isNumber, numeric, type Value } from './value.ts';

const MAX_SHOWN_CHARACTERS = 200;

/** A value as an error message shows it, cut to a readable length. */
export function showValue(value: Value): string {
  const text = show(value);
  return text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}...` : text;
}

function show(value: Value): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(value.slice(0, MAX_SHOWN_CHARACTERS));
  if (isNumber(value)) return String(numeric(value));
  if (value instanceof Date) return `new Date(${value.getTime()})`;
  if (value instanceof ObjectId) return `ObjectId('${value.toHexString()}')`;
  if (value instanceof Binary) return `BinData(${value.sub_type}, ${value.length()} bytes)`;
  if (value instanceof BSONRegExp) return `/${value.pattern}/${value.options}`;
  if (Array.isArray(value)) return `[ ${value.slice(0, 10).map(show).join(', ')} ]`;
  return showDoc(value);
}

function showDoc(doc: { [field: string]: Value }): string {
  const fields = Object.entries(doc).slice(0, 10);
  return `{ ${fields.map(([name, field]) => `${name}: ${show(field)}`).join(', ')} }`;
}
