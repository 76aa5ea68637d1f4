import { RE2JS } from 're2js';

/** Longer lines, and more of them, are not used: compiling costs time and memory. */
const MAX_PATTERN_LENGTH = 1_000;
const MAX_PATTERNS = 50;
/** Of a longer message only this many characters are shown, so that masking stays quick. */
const MAX_MESSAGE_LENGTH = 10_000;

/** Puts `*` in the place of every character of a message that one of the patterns matches. */
export type PrivacyMask = (patterns: string, message: string) => string;

/**
 * A mask that compiles its patterns once and again only when their text changes.
 *
 * Patterns are the setting `privacy_regs`: one RE2 pattern per line. Empty lines and lines that are no pattern are passed over.
 */
export function createPrivacyMask(): PrivacyMask {
  let compiled: { text: string; patterns: RE2JS[] } = { text: '', patterns: [] };
  return (text, message) => {
    if (compiled.text !== text) compiled = { text, patterns: compile(text) };
    return compiled.patterns.reduce(blacken, message.slice(0, MAX_MESSAGE_LENGTH));
  };
}

function compile(text: string): RE2JS[] {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  return lines
    .filter((line) => line !== '' && line.length <= MAX_PATTERN_LENGTH)
    .slice(0, MAX_PATTERNS)
    .flatMap((line) => {
      try {
        return [RE2JS.compile(line)];
      } catch {
        // Saving refuses such a line. If one is stored anyway, it must not turn an error into another one.
        return [];
      }
    });
}

function blacken(message: string, pattern: RE2JS): string {
  const matcher = pattern.matcher(message);
  let masked = '';
  let shownFrom = 0;
  while (matcher.find()) {
    masked += message.slice(shownFrom, matcher.start()) + '*'.repeat(matcher.end() - matcher.start());
    shownFrom = matcher.end();
  }
  return masked + message.slice(shownFrom);
}
