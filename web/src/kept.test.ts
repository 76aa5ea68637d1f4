import { expect, it, vi } from 'vitest';
import { recall, remember } from './kept.ts';

it('a browser that remembers nothing, or has no room, refuses nobody the page', () => {
  const refuse = () => {
    throw new DOMException('refused', 'SecurityError');
  };
  vi.stubGlobal('localStorage', { getItem: refuse, setItem: refuse, removeItem: refuse });
  expect(recall('wharf.token')).toBeNull();
  expect(() => remember('wharf.token', 'text')).not.toThrow();
  expect(() => remember('wharf.token', null)).not.toThrow();
  vi.unstubAllGlobals();
});
