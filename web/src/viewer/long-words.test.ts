import { expect, it } from 'vitest';
import { partWords } from './long-words.ts';

/** The longest word in pieces of texts that follow each other. */
function longest(texts: readonly string[]): number {
  let open = 0;
  const pieces = texts.map((text) => {
    const parts = partWords(text, open);
    open = parts.open;
    expect(parts.pieces.join('')).toBe(text);
    for (const piece of parts.pieces) expect(piece.isWellFormed()).toBe(true);
    return parts.pieces.join('\n');
  });
  return Math.max(
    ...pieces
      .join('')
      .split(/\s+/)
      .map((word) => word.length),
  );
}

it('a text is parted in its longest words alone, and not within a letter', () => {
  expect(partWords('').pieces).toEqual(['']);
  expect(partWords(`${'a'.repeat(500)} \n${'b'.repeat(500)}`).pieces).toHaveLength(1);
  expect(partWords(`${'a'.repeat(1_500)} b`).pieces.map(({ length }) => length)).toEqual([500, 500, 502]);
  expect(longest([`a${'😀'.repeat(5_000)} b`])).toBeLessThanOrEqual(501);
});

it('a word that goes on in the next text is one', () => {
  const texts = Array.from({ length: 200 }, (_, index) => 'ب'.repeat(1 + ((index * 37) % 150)));
  expect(longest(texts)).toBe(500);
  expect(longest(['x'.repeat(500), 'y', ' z', 'x'.repeat(499)])).toBe(500);
  expect(partWords('y', 500).pieces).toEqual(['', 'y']);
  expect(partWords('x ', 3).open).toBe(0);
});
