/**
 * A browser that looks for the end of a line in a word shapes the rest of the word anew for each line, where its letters join (Arabic) or nothing tells where
 * words end (Thai): 128,000 letters of one took 20 s. So no word is longer, in UTF-16 units.
 */
const MAX_WORD = 500;

/** A text in pieces between which a line may end; together they are the text. */
interface Parted {
  readonly pieces: readonly string[];
  /** So much of its last word, which may go on, is in one piece. */
  readonly open: number;
}

/** @internal exported for its test. @param open as it was told of the text before, whose last word may go on in this one */
export function partWords(text: string, open = 0): Parted {
  const pieces: string[] = [];
  let [from, length] = [0, open];
  for (const { index, 0: word } of text.matchAll(/\S+/g)) {
    if (index > 0) length = 0;
    const end = index + word.length;
    length += word.length;
    for (let cut = end - length + MAX_WORD; cut < end; cut += MAX_WORD) {
      const at = isWithinLetter(text, cut) ? cut + 1 : cut;
      pieces.push(text.slice(from, at));
      from = at;
      length = end - at;
    }
  }
  return { pieces: [...pieces, text.slice(from)], open: /\s$/.test(text) ? 0 : length };
}

const isWithinLetter = (text: string, place: number) => /[\udc00-\udfff]/.test(text.charAt(place));

/** A text whose lines may end within its longest words; what is copied of it is the text. */
export function breakable(text: string): (string | Node)[] {
  return withBreaks(partWords(text));
}

/** The same for all texts within. */
export function breakWords(within: Node): void {
  const walk = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
  const parted: [Text, Parted][] = [];
  let open = 0;
  while (walk.nextNode()) {
    const text = walk.currentNode as Text;
    const parts = partWords(text.data, open);
    open = parts.open;
    if (parts.pieces.length > 1) parted.push([text, parts]);
  }
  for (const [text, parts] of parted) text.replaceWith(...withBreaks(parts));
}

function withBreaks({ pieces }: Parted): (string | Node)[] {
  return pieces.flatMap((piece, index) => (index === 0 ? [piece] : [document.createElement('wbr'), piece]));
}
