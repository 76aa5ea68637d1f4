import type { Answer } from '../api/call.ts';

/** What can be chosen in the form of a driver, with what is chosen so far. */
export type Option = Answer<'/api/admin/driver/options'>[number];

/** `name = value`. Spaces at the ends of the value are left to whoever writes it. */
const LINE = /^\s*([a-z0-9_]+)\s*= ?(.*)$/;

const nameOf = (line: string) => LINE.exec(line)?.[1];
const linesOf = (text: string) => text.split('\n').filter((line) => line.trim() !== '');

/** What a text of such lines has for an option; empty: nothing. */
export function valueIn(text: string, { name, type }: Pick<Option, 'name' | 'type'>): string {
  const line = linesOf(text).find((each) => nameOf(each) === name);
  const value = LINE.exec(line ?? '')?.[2] ?? '';
  return type === 'text' ? value.replaceAll('\\n', '\n') : value;
}

/** The text with another value for an option, in its place. @param value empty: the option goes */
export function withValue(text: string, { name, type }: Pick<Option, 'name' | 'type'>, value: string): string {
  const lines = linesOf(text);
  const line = `${name} = ${type === 'text' ? value.replaceAll('\n', '\\n') : value}`;
  const place = lines.findIndex((each) => nameOf(each) === name);
  return lines.toSpliced(place === -1 ? lines.length : place, place === -1 ? 0 : 1, ...(value === '' ? [] : [line])).join('\n');
}

/** An option with the item that has it: one that is no secret may stand among secrets, and is not shown again then. */
export function asKept(option: Option, items: readonly string[], textOf: (item: string) => string): Option {
  if (option.secret || option.name === option.item) return option;
  const item = items.find((each) => valueIn(textOf(each), option) !== '') ?? option.item;
  return item === option.item ? option : { ...option, item, secret: true };
}

/** Whether a text has lines that are of none of these options: no field shows them. */
export function hasOthers(text: string, options: readonly Pick<Option, 'name'>[]): boolean {
  const names = new Set(options.map(({ name }) => name));
  return linesOf(text).some((line) => !names.has(nameOf(line) ?? ''));
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
