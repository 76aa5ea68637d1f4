import { expect, it, vi } from 'vitest';

// What a call looks at in a browser, once.
vi.stubGlobal('localStorage', { getItem: () => null });
vi.stubGlobal('addEventListener', () => undefined);
const { ApiError } = await import('../api/call.ts');
const { createPartSize } = await import('./part-size.ts');
vi.unstubAllGlobals();

const cut = new ApiError(0, 'nobody answered');
const there = () => Promise.resolve(true);

it('a way that cuts off one body after the other gets smaller ones', async () => {
  const size = createPartSize(there);
  const before = size.bytes();
  expect([await size.shrinkAfter(cut), await size.shrinkAfter(cut), await size.shrinkAfter(cut)]).toEqual([false, false, true]);
  expect(size.bytes()).toBe(before / 2);
});

it('bodies that are cut off between others that pass are none too large: what the server has of the upload stays', async () => {
  const size = createPartSize(there);
  const before = size.bytes();
  for (let time = 0; time < 10; time += 1) {
    expect(await size.shrinkAfter(cut)).toBe(false);
    size.passed();
  }
  expect(size.bytes()).toBe(before);
});

it('a server that is away says nothing of the size, and a refusal says it at once', async () => {
  const size = createPartSize(() => Promise.resolve(false));
  for (let time = 0; time < 10; time += 1) expect(await size.shrinkAfter(cut)).toBe(false);
  expect(await size.shrinkAfter(new ApiError(413, 'too large'))).toBe(true);
});
