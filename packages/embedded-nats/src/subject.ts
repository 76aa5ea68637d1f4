/** True for a subject that a message may have: tokens joined by dots, none empty, none of them a wildcard. */
export function isLiteralSubject(subject: string): boolean {
  return subject.split('.').every((token) => token !== '' && token !== '*' && token !== '>');
}

/** True for what may be subscribed to: as above, with `*` for one token and `>` as the last for one or more. A `*` inside a token is a letter like others. */
export function isPattern(pattern: string): boolean {
  const tokens = pattern.split('.');
  return tokens.every((token, i) => token !== '' && (token !== '>' || i === tokens.length - 1));
}

export function hasWildcard(pattern: string): boolean {
  return pattern.split('.').some((token) => token === '*' || token === '>');
}

/** Both sides as tokens, both valid. */
export function matches(pattern: readonly string[], subject: readonly string[]): boolean {
  for (let i = 0; i < pattern.length; i++) {
    const wanted = pattern[i];
    const token = subject[i];
    if (token === undefined) return false;
    if (wanted === '>') return true;
    if (wanted !== '*' && wanted !== token) return false;
  }
  return pattern.length === subject.length;
}
