import { expect, test } from 'vitest';
import { runDownloadChaos } from './support/download-chaos.ts';

test('two downloaders that are killed in turns lose nothing, and bring nothing twice', { timeout: 600_000 }, async () => {
  const report = await runDownloadChaos({
    replicas: 2,
    // Many that begin and end, so that kills come in between as well.
    files: 40,
    maxFileBytes: 1024 * 1024,
    killEveryMs: 1_300,
    killForMs: 16_000,
    restartsBus: true,
    restartsStore: false,
    bytesPerSecond: 300_000,
    tell: () => {},
  });
  expect(report).toMatchObject({ arrived: 40, surplus: [], damaged: [], debris: [], failed: [] });
  expect(report.kills).toBeGreaterThan(0);
});
