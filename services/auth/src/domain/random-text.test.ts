import { expect, it } from 'vitest';
import { ALPHANUMERICS, READABLE, randomText } from './random-text.ts';

it.each([ALPHANUMERICS, READABLE])('every character of the alphabet comes up, and no other', (alphabet) => {
  const text = randomText(alphabet, alphabet.length * 100);
  expect([...new Set(text)].sort()).toEqual([...alphabet].sort());
});

it('the readable alphabet has no look-alikes', () => {
  expect(READABLE).not.toMatch(/[0OoIl1i]/);
});
