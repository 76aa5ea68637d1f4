import { expect, test } from 'vitest';
import { showName } from './show-name.ts';

test('signs that turn a name around, or that nobody sees in it, are seen', () => {
  expect(showName('photo\u202egpj.exe')).toBe('photo\ufffdgpj.exe');
  expect(showName('a\u2067b\u2069')).toBe('a\ufffdb\ufffd');
  for (const sign of ['\u200e', '\u200f', '\u061c', '\u034f', '\u3164', '\uffa0', '\u{e0001}'])
    expect(showName(`a${sign}b`)).toBe('a\ufffdb');
  expect(showName('re\u200bport\u00ad.txt\0')).toBe('re\ufffdport\ufffd.txt\ufffd');
});

test.each([
  'Übersicht 2026.pdf',
  '照片.jpg',
  'תמונה.png',
  'نمی\u200cدانم.txt',
  '👩\u200d👧.png',
  '❤\ufe0f.png',
  '🏴\u{e0067}\u{e0062}\u{e007f}.png',
  'e\u0301.txt',
  'two\nlines',
])('%s stays as it is', (name) => {
  expect(showName(name)).toBe(name);
});
