import { totalmem } from 'node:os';
import { expect, it, onTestFinished, vi } from 'vitest';
import { memoryBytes } from './memory-bytes.ts';

it('is what the container may have, where it is less than the machine has', () => {
  const constrained = vi.spyOn(process, 'constrainedMemory').mockReturnValue(4_096);
  onTestFinished(() => constrained.mockRestore());
  expect(memoryBytes()).toBe(4_096);
  for (const unbounded of [0, 2 ** 63, 2 ** 64]) {
    constrained.mockReturnValue(unbounded);
    expect(memoryBytes()).toBe(totalmem());
  }
});
