import type { RuleRecord } from '@wharf/models';
import { isWithin, type VirtualPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import { ownText } from '../../driver-contract/own-text.ts';
import type { Actor } from './permissions.ts';

/** A rule with its patterns. Exactly one rule applies to a path: the nearest, whatever stands further up. */
export interface Rule extends RuleRecord {
  /** They are compiled when they are first asked for: there may be thousands of rules, and most are not asked for. */
  readonly hidePatterns: readonly RE2JS[];
  /** Which names they match, as far as it is known: each page of a folder asks for all its names again. */
  readonly matches: Map<string, boolean>;
}

/** Names that a rule remembers at most: those of a very big folder, and about 10 MB. */
const MAX_REMEMBERED = 131_072;
/** Rules whose patterns are kept although nobody asks for them. */
const MAX_COMPILED = 2_048;

/** Lines that are compiled, by their text: whenever anything of the configuration changes, all rules are made anew. */
const compiled = new LRUCache<string, readonly RE2JS[]>({ max: MAX_COMPILED });

export function ruleFrom(record: RuleRecord): Rule {
  let patterns: readonly RE2JS[] | undefined;
  return {
    ...record,
    get hidePatterns() {
      patterns ??= patternsOf(record.hide);
      return patterns;
    },
    matches: new Map(),
  };
}

function patternsOf(lines: string): readonly RE2JS[] {
  const known = compiled.get(lines);
  if (known) return known;
  const patterns = compileHide(lines);
  compiled.set(lines, patterns);
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
export function matchesHide({ hidePatterns, matches }: Rule, name: string): boolean {
  const known = matches.get(name);
  if (known !== undefined) return known;
  const isMatch = hidePatterns.some((pattern) => pattern.matcher(name).find());
  if (matches.size >= MAX_REMEMBERED) matches.clear();
  matches.set(ownText(name), isMatch);
  return isMatch;
}

/** One pattern per line, linear in time; an empty line is none. A line that does not compile (it was refused when saved) hides nothing. */
function compileHide(lines: string): RE2JS[] {
  const patterns: RE2JS[] = [];
  for (const line of lines.split('\n').map((each) => each.replace(/\r$/, ''))) {
    if (line === '') continue;
    try {
      patterns.push(RE2JS.compile(line));
    } catch {
      // Admin refuses such a line with its reason; one that is there anyway must not stop every listing.
    }
  }
  return patterns;
}
