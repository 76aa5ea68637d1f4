/** What clients are shown of the name or the error of a task, in UTF-16 units: paths and addresses in them may have thousands. */
const MAX_SHOWN = 1_000;
const LEFT_OUT = '…';

/** A name as clients see it: of one that is too long, what is before the last ` to ` and what is behind it are cut in their middles. */
export function shownName(name: string): string {
  if (name.length <= MAX_SHOWN) return name;
  const at = name.lastIndexOf(' to ');
  return at === -1 ? cut(name, MAX_SHOWN) : cut(name.slice(0, at), MAX_SHOWN / 2) + cut(name.slice(at), MAX_SHOWN / 2);
}

/** An error as clients see it, cut in its middle where it is too long. */
export const shownError = (error: string): string => cut(error, MAX_SHOWN);

function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const half = (length - LEFT_OUT.length) / 2;
  const short = text.slice(0, Math.ceil(half)) + LEFT_OUT + text.slice(-Math.floor(half));
  // A part of a string keeps the whole in memory; this is a copy, in which half a character becomes U+FFFD.
  return Buffer.from(short).toString();
}
