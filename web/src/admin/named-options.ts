import type { Answer } from '../api/call.ts';

/** What can be chosen in the form of a driver, with what is chosen so far. */
export type Option = Answer<'/api/admin/driver/options'>[number];

/** `name = value`. Spaces at the ends of a value are none of it. Undefined: it is no such line. */
function readLine(line: string): [string, string] | undefined {
  const at = line.indexOf('=');
  const name = line.slice(0, Math.max(0, at)).trim();
  return /^[a-z0-9_]+$/.test(name) ? [name, line.slice(at + 1).trim()] : undefined;
}

/** What a text has: an object in JSON, or lines that somebody wrote by hand. Undefined: it is neither, or not yet. */
function namedIn(text: string): Readonly<Record<string, string>> | undefined {
  const isObject = text.trimStart().startsWith('{');
  const entries = isObject
    ? entriesOf(text)
    : text
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map(readLine);
  return entries?.every((entry) => entry !== undefined) ? Object.fromEntries(entries) : undefined;
}

function entriesOf(text: string): readonly (readonly [string, string])[] | undefined {
  try {
    return Object.entries(JSON.parse(text) as object).map(([name, value]) => [name, String(value)] as const);
  } catch {
    return undefined;
  }
}

/** What a text of options has for one; empty: nothing. */
export function valueIn(text: string, { name, type }: Pick<Option, 'name' | 'type'>): string {
  const value = namedIn(text)?.[name] ?? '';
  return type === 'text' ? value.replaceAll('\\n', '\n') : value;
}

/**
 * The text, as an object, with another value for an option, in its place. One that nobody can read stays as it is: it is still being written.
 *
 * @param value empty: the option goes
 */
export function withValue(text: string, { name, type }: Pick<Option, 'name' | 'type'>, value: string): string {
  const named = namedIn(text);
  if (named === undefined) return text;
  const { [name]: _, ...others } = named;
  const next = value === '' ? others : { ...named, [name]: type === 'text' ? value.replaceAll('\n', '\\n') : value };
  return Object.keys(next).length === 0 ? '' : JSON.stringify(next, undefined, 2);
}

/** An option with the item that has it: one that is no secret may stand among secrets, and is not shown again then. */
export function asKept(option: Option, items: readonly string[], textOf: (item: string) => string): Option {
  if (option.secret || option.name === option.item) return option;
  const item = items.find((each) => valueIn(textOf(each), option) !== '') ?? option.item;
  return item === option.item ? option : { ...option, item, secret: true };
}

/** Whether a text has what is of none of these options: no field shows it. */
export function hasOthers(text: string, options: readonly Pick<Option, 'name'>[]): boolean {
  const names = new Set(options.map(({ name }) => name));
  const named = namedIn(text);
  return named === undefined || Object.keys(named).some((name) => !names.has(name));
}

/** The options that have to be given, and are not. @param valueFor what the form has */
export function missingOptions(options: readonly Option[], valueFor: (option: Option) => string): readonly Option[] {
  return options.filter((option) => option.required && option.default === '' && valueFor(option) === '');
}

const MAX_LABEL = 80;

/** A choice as a list has it: its value, and in short what rclone or whoever says of it. */
export function labelOfChoice({ value, help }: Option['choices'][number]): string {
  const [first = ''] = help.split('\n');
  if (first === '') return value;
  if (first.toLowerCase() === value.toLowerCase()) return first;
  return `${value} – ${first.length > MAX_LABEL ? `${first.slice(0, MAX_LABEL).trimEnd()}…` : first}`;
}
