import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { totalmem } from 'node:os';
import { expect, it, onTestFinished, vi } from 'vitest';
import { countProcess, memoryBytes, ownBytes, takenBytes } from './memory-bytes.ts';

it('is what the container may have, where it is less than the machine has', () => {
  const constrained = vi.spyOn(process, 'constrainedMemory').mockReturnValue(4_096);
  onTestFinished(() => constrained.mockRestore());
  expect(memoryBytes()).toBe(4_096);
  for (const unbounded of [0, 2 ** 63, 2 ** 64]) {
    constrained.mockReturnValue(unbounded);
    expect(memoryBytes()).toBe(totalmem());
  }
});

it.runIf(process.platform === 'linux')('what processes of ours have is taken, until they end', async () => {
  const [mib, ended] = [1024 ** 2, new AbortController()];
  const holding = `const held = Buffer.alloc(${64 * mib}, 1); process.stdout.write('held'); setInterval(() => held, 60_000)`;
  const child = spawn(process.execPath, ['-e', holding], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill());
  await once(child.stdout, 'data');
  countProcess(child.pid ?? 0, ended.signal);
  expect(takenBytes() - ownBytes()).toBeGreaterThan(60 * mib);
  ended.abort();
  expect(takenBytes() - ownBytes()).toBeLessThan(60 * mib);
});
