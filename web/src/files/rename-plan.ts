/** How names are to change. */
export interface RenamePattern {
  /** Empty: the whole name. */
  readonly find: string;
  /** `{n}` in it counts from 1; as many letters, as many digits. Of a regular expression, `$1` is its first group. */
  readonly replace: string;
  readonly isRegex: boolean;
  /** Whether what stands behind the last dot counts as a part of the name. */
  readonly withEnding: boolean;
}

export interface PlannedName {
  readonly from: string;
  readonly to: string;
  /** Why it cannot be so; undefined: it can, or nothing changes. */
  readonly problem: 'taken' | 'bad' | undefined;
}

interface Named {
  readonly name: string;
  readonly is_dir: boolean;
}

/**
 * What becomes of names, in the order that they are counted in.
 *
 * @param others names of the folder that stay as they are. A name that another one of the renamed still has counts as taken too: they change one by one.
 * @throws SyntaxError the regular expression is none
 */
export function planNames(entries: readonly Named[], pattern: RenamePattern, others: ReadonlySet<string>): PlannedName[] {
  const finds = pattern.isRegex && pattern.find !== '' ? new RegExp(pattern.find, 'gu') : pattern.find;
  const taken = new Set([...others, ...entries.map(({ name }) => name)]);
  let count = 0;
  return entries.map(({ name, is_dir }) => {
    const dot = is_dir || pattern.withEnding ? -1 : name.lastIndexOf('.');
    const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
    const replacement = pattern.replace.replace(/\{(n+)\}/g, (_, digits: string) => String(count + 1).padStart(digits.length, '0'));
    const changed = finds === '' ? replacement : replaceIn(stem, finds, replacement);
    if (changed !== stem || finds === '') count += 1;
    const to = changed + ending;
    if (to === name || (finds === '' && replacement === '')) return { from: name, to: name, problem: undefined };
    const isTaken = taken.has(to);
    taken.add(to);
    return { from: name, to, problem: isBad(to, changed) ? 'bad' : isTaken ? 'taken' : undefined };
  });
}

/** A plain text replaces as it stands; `$1` is only for regular expressions. */
const replaceIn = (stem: string, finds: string | RegExp, replacement: string) =>
  typeof finds === 'string' ? stem.replaceAll(finds, () => replacement) : stem.replace(finds, replacement);

const isBad = (name: string, stem: string) => stem.trim() === '' || name === '.' || name === '..' || /[/\\]/.test(name);
