import { expect, it } from 'vitest';
import { boundedMarkdown } from './markdown-language.ts';

/** The longest stretch that is read in one turn, and the names of what was found. */
function blocksOf(text: string): { longest: number; names: Set<string> } {
  const names = new Set<string>();
  let longest = 0;
  boundedMarkdown()
    .language.parser.parse(text)
    .iterate({
      enter({ name, from, to }) {
        names.add(name);
        if (/^(?:Paragraph|SetextHeading|ATXHeading|LinkReference|Table)/.test(name)) longest = Math.max(longest, to - from);
      },
    });
  return { longest, names };
}

it.each(['', '> ', '- ', '   '])('no block is read that is much longer than 4,000 letters, behind "%s"', (begin) => {
  for (const marks of ['*_', '[a](', 'a** ', '[a]: b\n']) {
    const lines = Array.from({ length: 1_000 }, () => `${begin}${marks.repeat(60 / marks.length)}`);
    expect(blocksOf(lines.join('\n')).longest).toBeLessThan(4_200);
  }
});

it('a text of many short blocks is what it was', () => {
  const { longest, names } = blocksOf(`# Title\n\n${'A *word* and `code`, [a link](b).\n\n'.repeat(1_000)}> quoted\n> on\n`);
  expect(longest).toBeLessThan(50);
  for (const name of ['ATXHeading1', 'Emphasis', 'InlineCode', 'Link', 'Blockquote']) expect(names).toContain(name);
});
