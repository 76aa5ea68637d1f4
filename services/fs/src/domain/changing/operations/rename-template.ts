import { AppError } from '@wharf/errors';
import { isHugePattern, type Pace } from '@wharf/pace';
import { RE2JS } from 're2js';

/** Longer patterns and templates cost more for every name than anybody needs. */
const MAX_CHARS = 1_000;
/** Instructions of a compiled pattern; each may be looked at for every character of a name. */
const MAX_PROGRAM_SIZE = 300;

/** A part of a template: a text as it stands, or what a group matched. */
type Part = { readonly text: string } | { readonly group: string };

/**
 * Prepares a rename by pattern: RE2 syntax, unanchored, every match replaced, in linear time. In the template `$1`, `${1}`, `$name`,
 * `${name}` stand for groups (`$0` for the whole match) and `$$` for a dollar; without braces the longest run of letters, digits and `_`
 * is the name, so that `$1x` is the group `1x`. A group that is unknown or did not take part is empty. `\1` is two characters.
 *
 * Each match may be looked for through the rest of the name, so others get their turn between two of them.
 *
 * @returns the new name of a name, or undefined when the pattern does not match it
 * @throws AppError FAILED_PRECONDITION for a pattern that cannot be used
 */
export function compileRename(pattern: string, template: string): (name: string, pace: Pace) => Promise<string | undefined> {
  const compiled = compile(pattern);
  if (template.length > MAX_CHARS) throw new AppError('INVALID_ARGUMENT', `new_name_regex may have ${MAX_CHARS} characters at most`);
  const parts = parseTemplate(template);
  const groups = compiled.namedGroups();
  const groupCount = compiled.groupCount();
  const indexOf = (group: string): number | undefined => {
    if (/^\d+$/.test(group)) return group.length > 1 && group.startsWith('0') ? undefined : Number(group);
    return Object.hasOwn(groups, group) ? groups[group] : undefined;
  };
  const places = parts.map((part) => ('text' in part ? part.text : indexOf(part.group)));

  return async (name, pace) => {
    const matcher = compiled.matcher(name);
    let renamed = '';
    let copiedTo = 0;
    let lastEnd = -1;
    while (matcher.find()) {
      await pace.step();
      const [start, end] = [matcher.start(), matcher.end()];
      // As in the family, nothing matches empty right behind a match.
      if (start === end && start === lastEnd) continue;
      renamed += name.slice(copiedTo, start);
      for (const place of places) {
        if (typeof place === 'string') renamed += place;
        else if (place !== undefined && place <= groupCount) renamed += matcher.group(place) ?? '';
      }
      copiedTo = end;
      lastEnd = end;
    }
    return lastEnd === -1 ? undefined : renamed + name.slice(copiedTo);
  };
}

function compile(pattern: string): RE2JS {
  if (pattern.length > MAX_CHARS)
    throw new AppError('FAILED_PRECONDITION', `error parsing regexp: a pattern may have ${MAX_CHARS} characters at most`);
  if (isHugePattern(pattern)) throw tooComplex();
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch (cause) {
    throw new AppError('FAILED_PRECONDITION', reasonOf(cause), { cause });
  }
  if (compiled.programSize() > MAX_PROGRAM_SIZE) throw tooComplex();
  return compiled;
}

const tooComplex = () =>
  new AppError('FAILED_PRECONDITION', 'error parsing regexp: the pattern is too complex; use fewer or smaller repetitions');

/** The engine's own words about the pattern; anything else it may say is not for callers. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : '';
  return text.startsWith('error parsing regexp: ') ? text : 'error parsing regexp: not a pattern';
}

function parseTemplate(template: string): Part[] {
  const parts: Part[] = [];
  let text = '';
  for (let at = 0; at < template.length; ) {
    const reference = template[at] === '$' ? referenceAt(template.slice(at)) : undefined;
    if (reference === undefined) {
      text += template[at];
      at += 1;
      continue;
    }
    at += reference.length;
    if (reference.group === undefined) text += '$';
    else {
      parts.push({ text }, { group: reference.group });
      text = '';
    }
  }
  parts.push({ text });
  return parts;
}

/** What a `$` begins; a group of undefined is a plain dollar. Undefined when it is only a character. */
function referenceAt(text: string): { length: number; group: string | undefined } | undefined {
  if (text.startsWith('$$')) return { length: 2, group: undefined };
  const [whole, braced, bare] = /^\$(?:\{([\p{L}\p{Nd}_]+)\}|([\p{L}\p{Nd}_]+))/u.exec(text) ?? [];
  return whole === undefined ? undefined : { length: whole.length, group: braced ?? bare };
}
