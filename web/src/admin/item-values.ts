import type { Answer } from '../api/call.ts';

/** One item of a form, as the template of a driver describes it. */
export type Item = Answer<'/api/admin/driver/info'>['additional'][number];
/** What a form has for each item: texts, numbers too, but for what is on or off. */
export type Values = Readonly<Record<string, string | boolean>>;

/** What a new form begins with. */
export function firstValues(items: readonly Item[]): Values {
  return Object.fromEntries(items.map((item) => [item.name, item.type === 'bool' ? item.default === 'true' : item.default]));
}

/** The values of what is saved; what the saved one lacks is as in a new form, and so is a choice that has to be made and was not. */
export function valuesFrom(items: readonly Item[], saved: Readonly<Record<string, unknown>>): Values {
  const first = firstValues(items);
  return Object.fromEntries(
    items.map(({ name, type, required }) => {
      const value = saved[name];
      const isUnmade = type === 'select' && required && value === '';
      if (value === undefined || value === null || isUnmade) return [name, first[name] ?? ''];
      return [name, type === 'bool' ? value === true || value === 'true' : String(value)];
    }),
  );
}

/** The values as the server takes them: numbers are numbers, and an empty one is absent. */
export function toInput(items: readonly Item[], values: Values): Record<string, string | number | boolean> {
  const input: Record<string, string | number | boolean> = {};
  for (const { name, type } of items) {
    const value = values[name] ?? '';
    if (type !== 'number') input[name] = value;
    else if (value !== '' && Number.isFinite(Number(value))) input[name] = Number(value);
  }
  return input;
}

/** What of a form was changed since it was opened, and of the rest what is saved by now: a token may have been renewed meanwhile. */
export function withPresent(items: readonly Item[], opened: Values, values: Values, saved: Readonly<Record<string, unknown>>): Values {
  const present = valuesFrom(items, saved);
  return Object.fromEntries(items.map(({ name }) => [name, (values[name] === opened[name] ? present[name] : values[name]) ?? '']));
}

/** The items that have to be given, and are not. */
export function missing(items: readonly Item[], values: Values): readonly string[] {
  return items.filter(({ name, required, type }) => required && type !== 'bool' && values[name] === '').map(({ name }) => name);
}

/** Whether what an item holds should not be read over somebody's shoulder. */
export function isSecret({ name, type }: Pick<Item, 'name' | 'type'>): boolean {
  if (type !== 'string' && type !== 'text') return false;
  return /password|passphrase|secret|token|^salt$|_key$|^key$/.test(name) && !/^(?:host|public)_key$/.test(name);
}
