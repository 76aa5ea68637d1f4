import { markdown } from '@codemirror/lang-markdown';
import type { LanguageSupport } from '@codemirror/language';

/** Letters of one block of markdown that are read together, but for the end of its last line. */
const MAX_BLOCK = 4_000;

/**
 * The language of markdown. Marks, links and code of one block are read in one turn, which takes the square of its letters: 80 KB of `*_` took 19 s as they were
 * opened, and 9 s for each key. So what is longer counts as several blocks.
 */
export function boundedMarkdown(): LanguageSupport {
  return markdown({
    extensions: { parseBlock: [{ name: 'LongBlock', endLeaf: (_parser, _line, leaf) => leaf.content.length > MAX_BLOCK }] },
  });
}
