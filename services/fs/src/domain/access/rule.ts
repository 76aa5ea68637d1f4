import type { RuleRecord } from '@wharf/models';
import { forgettable, MAX_PATTERNS_BYTES, type Pace, patternsBytes } from '@wharf/pace';
import { isWithin, type VirtualPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import type { Actor } from './permissions.ts';
import { RememberedNames } from './remembered-names.ts';

/** A rule with its patterns. Exactly one rule applies to a path: the nearest, whatever stands further up. */
export interface Rule extends RuleRecord {
  /** Compiled by compileInTurns(), or when they are asked for. */
  readonly hidePatterns: readonly RE2JS[];
  /** Which names of a folder they match, as far as it is known, by their places: each page asks for all of them again, and they may be more than are remembered by name. */
  readonly matchesIn: WeakMap<readonly string[], Uint8Array>;
}

/** Of a folder with more names each is looked at by itself. */
const MAX_REMEMBERED = 131_072;

/** The patterns in some lines; undefined: they have no room any more, and are compiled anew when they are asked for. */
interface Compiled {
  patterns: readonly RE2JS[] | undefined;
}

/** By their lines: whenever anything of the configuration changes, all rules are made anew. */
const compiled = new LRUCache<string, Compiled>({
  maxSize: MAX_PATTERNS_BYTES,
  sizeCalculation: (_, lines) => Math.min(MAX_PATTERNS_BYTES, Math.max(1, patternsBytes(lines))),
  dispose: (old) => {
    old.patterns = undefined;
  },
});
/** Which names rules match, as far as it is known. */
const remembered = forgettable(new RememberedNames());

export function ruleFrom(record: RuleRecord): Rule {
  let known: Compiled | undefined;
  return {
    ...record,
    get hidePatterns() {
      if (record.hide === '') return NO_PATTERNS;
      known = known?.patterns ? known : compiled.get(record.hide);
      return known?.patterns ?? keep(record.hide, [...compileHide(record.hide)]);
    },
    matchesIn: new WeakMap(),
  };
}

const NO_PATTERNS: readonly RE2JS[] = [];

/**
 * Compiles the patterns in some lines, where they are not known yet; others have their turn in between. All rules may have so many that they take
 * seconds, and a path may lead through all of them.
 */
export async function compileInTurns(lines: string, pace: Pace): Promise<void> {
  if (lines === '' || compiled.get(lines)) return;
  const patterns: RE2JS[] = [];
  for (const pattern of compileHide(lines)) {
    patterns.push(pattern);
    await pace.step();
  }
  keep(lines, patterns);
}

function keep(lines: string, patterns: readonly RE2JS[]): readonly RE2JS[] {
  compiled.set(lines, { patterns });
  return patterns;
}

/** Whether the rule stands at the path, or above it and includes what is below. */
export function covers(rule: Rule, path: VirtualPath, includesBelow: boolean): boolean {
  return rule.path === path || (includesBelow && isWithin(rule.path as VirtualPath, path));
}

/** Whether the rule keeps anybody from seeing or changing something. */
export function guards(rule: Rule): boolean {
  return rule.password !== '' || rule.hidePatterns.length > 0 || rule.read_users.length > 0 || rule.write_users.length > 0;
}

/** Whether somebody is on a list of a rule; an empty list names everybody. */
export function isListed(users: readonly number[], actor: Actor): boolean {
  return users.length === 0 || users.includes(actor.id);
}

/** Whether the rule hides entries of this name. */
export function matchesHide(rule: Rule, name: string): boolean {
  if (rule.hidePatterns.length === 0) return false;
  const known = remembered.get(rule, name);
  if (known !== undefined) return known;
  const isMatch = isMatched(rule, name);
  remembered.set(rule, name, isMatch);
  return isMatch;
}

/** The same of the names of a folder, which stay as they are, by their places. */
export function matchesHideIn(rule: Rule, names: readonly string[]): (name: string, index: number) => boolean {
  const known = rule.matchesIn.get(names) ?? new Uint8Array(names.length);
  rule.matchesIn.set(names, known);
  const look = names.length > MAX_REMEMBERED ? isMatched : matchesHide;
  return (name, index) => {
    if (!known[index]) known[index] = look(rule, name) ? HIDDEN : SHOWN;
    return known[index] === HIDDEN;
  };
}

const [SHOWN, HIDDEN] = [1, 2];

function isMatched({ hidePatterns }: Rule, name: string): boolean {
  return hidePatterns.some((pattern) => pattern.matcher(name).find());
}

/** One pattern per line, linear in time; an empty line is none. A line that does not compile (it was refused when saved) hides nothing. */
function* compileHide(lines: string): Generator<RE2JS, void> {
  for (const line of lines.split('\n').map((each) => each.replace(/\r$/, ''))) {
    if (line === '') continue;
    try {
      yield RE2JS.compile(line);
    } catch {
      // Admin refuses such a line with its reason; one that is there anyway must not stop every listing.
    }
  }
}
