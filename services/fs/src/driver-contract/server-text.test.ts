import { expect, it } from 'vitest';
import { hasInOrder, keptText } from './server-text.ts';

it('of a long text both ends are kept', () => {
  expect(keptText('short')).toBe('short');
  const kept = keptText(`readdir ${'x'.repeat(100_000)}: not supported`);
  expect(kept.length).toBeLessThan(1_100);
  expect([kept.startsWith('readdir xx'), kept.endsWith('xx: not supported')]).toEqual([true, true]);
});

it.each([
  ['first, then second', true],
  ['second, then first', false],
  ['second, first, second', true],
  ['first', false],
])('%j has both in their order: %j', (text, has) => expect(hasInOrder(text, /first/, /second/)).toBe(has));
