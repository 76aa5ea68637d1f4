import { describe, expect, it } from 'vitest';
import { containsAll, gramsOf, gramsOfWords, parseKeywords } from './keywords.ts';

describe('keywords', () => {
  it('are split at white space of every kind, folded, and said once', () => {
    expect(parseKeywords(' Foo\tBAR\u3000foo\n')).toEqual(['foo', 'bar']);
    expect(parseKeywords('report rep port')).toEqual(['report']);
    expect(parseKeywords(' \u00a0 ')).toEqual([]);
  });

  it('that no name can contain are told apart from none', () => {
    expect(parseKeywords('\ud83d')).toBeUndefined();
    for (const control of ['\0', '\u0001', '\u001f', '\u007f']) expect(parseKeywords(`a b${control}c`)).toBeUndefined();
    expect(parseKeywords('a\tb\r\n')).toEqual(['a', 'b']);
    expect(parseKeywords('x'.repeat(256))).toBeUndefined();
    const letters = Array.from({ length: 2_000 }, (_, index) => String.fromCharCode(0x4e00 + index));
    expect(parseKeywords(letters.slice(0, 255).join(' '))).toHaveLength(255);
    expect(parseKeywords(letters.join(' '))).toBeUndefined();
    expect(() => parseKeywords('x '.repeat(2_049))).toThrow('the keywords are too long');
  });

  it('match letters of ASCII in any case, and all else as it is', () => {
    expect(containsAll('Große REISE', ['reise', 'große'])).toBe(true);
    expect(containsAll('ÄRGER', ['ärger'])).toBe(false);
    expect(containsAll('cafe\u0301', ['caf\u00e9'])).toBe(false);
    expect(containsAll('anything', [])).toBe(true);
  });
});

describe('grams', () => {
  it('are sequences of three characters, not of halves of them', () => {
    expect(gramsOf('a😀bc')).toEqual(['a😀b', '😀bc']);
    expect(gramsOf('ab')).toEqual([]);
  });

  it('of words are bounded, and all in a name that has the words', () => {
    expect(gramsOfWords(['abcdefgh', 'xy'], 100)).toEqual(gramsOf('abcdefgh'));
    const few = gramsOfWords(['abcdefghijklmnop', 'qrstuvwxyz'], 5);
    expect(few).toHaveLength(5);
    const name = new Set(gramsOf('qrstuvwxyz abcdefghijklmnop'));
    expect(few.every((gram) => name.has(gram))).toBe(true);
  });
});
