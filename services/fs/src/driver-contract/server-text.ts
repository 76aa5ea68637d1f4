/** So much is looked at of what a server says, half at its beginning and half at its end, in characters: it may say as much as it likes. */
const MOST_SAID = 1024;

/** What a server says, as far as it is looked at: a long path stands in the middle, the reason at one of the ends. */
export function keptText(text: string): string {
  return text.length <= MOST_SAID ? text : `${text.slice(0, MOST_SAID / 2)} … ${text.slice(-MOST_SAID / 2)}`;
}

/** Whether a text has both, one behind the other. A single pattern with `.*` between them would look for the second anew behind each of many firsts. */
export function hasInOrder(text: string, first: RegExp, second: RegExp): boolean {
  const at = text.search(first);
  return at >= 0 && second.test(text.slice(at));
}
