import { expect, test } from 'vitest';
import { runDownloadChaos } from './support/download-chaos.ts';

test('two downloaders that are killed in turns lose nothing, and bring nothing twice', { timeout: 600_000 }, async () => {
  const report = await runDownloadChaos({
    replicas: 2,
    files: 12,
    maxFileBytes: 6 * 1024 * 1024,
    killEveryMs: 2_000,
    killForMs: 8_000,
    restartsBus: true,
    restartsStore: false,
    bytesPerSecond: 300_000,
    tell: () => {},
  });
  expect(report).toMatchObject({ arrived: 12, surplus: [], damaged: [], debris: [], failed: [] });
  expect(report.kills).toBeGreaterThan(0);
});
