/** One item of the form of a driver. */
export interface FormItem {
  readonly name: string;
  readonly isRequired: boolean;
  /** What the driver takes where nothing is given, as text. */
  readonly standard: string;
  /** What may be chosen; empty: anything. */
  readonly options: readonly string[];
}

/** What a driver takes. */
export interface DriverForm {
  readonly items: readonly FormItem[];
  readonly secretItems: ReadonlySet<string>;
}

/** Names and values come from the file. */
const MAX_SHOWN_LENGTH = 200;

/** What of an addition the driver does not take or misses, one phrase for each. Secrets that `omitted` names are told elsewhere. */
export function misfitsOf(addition: object, { items }: DriverForm, omitted: ReadonlySet<string>): string[] {
  const values = new Map(Object.entries(addition).filter(([, value]) => !isEmpty(value)));
  const known = new Map(items.map((item) => [item.name, item]));
  const strange = [...values.keys()].filter((name) => !known.has(name));
  const unchosen = [...values].filter(([name, value]) => {
    const { options = [] } = known.get(name) ?? {};
    return options.length > 0 && !options.includes(String(value));
  });
  const missing = items.filter(({ name, isRequired }) => isRequired && !values.has(name) && !(name in addition) && !omitted.has(name));
  return [
    ...(strange.length > 0 ? [`left out, as the driver has no such items: ${shown(strange)}`] : []),
    ...(unchosen.length > 0 ? [`not to be chosen here: ${shown(unchosen.map(([name, value]) => `${name} ${String(value)}`))}`] : []),
    ...(missing.length > 0 ? [`the driver needs ${shown(missing.map(({ name }) => name))}`] : []),
  ];
}

/** What stands for nothing in an addition. */
function isEmpty(value: unknown): boolean {
  return value === '' || value === false || value === 0 || value === null;
}

function shown(names: readonly string[]): string {
  return names.join(', ').slice(0, MAX_SHOWN_LENGTH);
}
