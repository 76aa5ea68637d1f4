/** Elements that a parser opens again in every later block, as long as nobody ends them. */
const OPENED_AGAIN = /<(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/>])/gi;
/** A tag as it should be: two of the same letters are the same. */
const PLAIN_TAG = /<[a-z]+(?:\s+[^\s"'<>/=]+(?:=(?:"[^"]*"|'[^']*'|[^\s"'<>=`]+))?)*\s*\/?>/iy;
/** Of those that are the same, a parser opens so many again. */
const SAME = 3;

/**
 * How many elements a parser makes of a text of markup, at most. It may be far more than the text has tags: of 7 KB with 400 `<b>` of different ids that
 * nobody ends, and as many paragraphs, 160,000.
 *
 * @param written what of it an author wrote as tags; those of markdown are always ended
 */
export function elementsAtMost(html: string, written: string): number {
  const tags = html.match(/<[a-z]/gi)?.length ?? 0;
  const kinds = new Set<string>();
  let odd = 0;
  for (const { index } of written.matchAll(OPENED_AGAIN)) {
    PLAIN_TAG.lastIndex = index;
    const [tag] = PLAIN_TAG.exec(written) ?? [];
    if (tag === undefined) odd += 1;
    else kinds.add(tag);
  }
  return tags * (1 + SAME * kinds.size + odd);
}

/** A line that may say how many columns a table has, wherever the table lies. */
const COLUMNS = /^[\s>*+\d.)]*[|:-][\s|:>-]*$/;

/** How many cells the tables of a markdown text have, at most. Each line of one has as many as its second line says, though it be a single letter. */
export function cellsAtMost(text: string): number {
  let cells = 0;
  let columns = 0;
  for (const line of text.split('\n')) {
    if (line.trim() === '') columns = 0;
    else if (line.includes('|') && COLUMNS.test(line)) columns = Math.max(columns, line.split('|').length);
    cells += columns;
  }
  return cells;
}
