import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bytesOf, openTree } from '../src/domain/testing/memory-tree.ts';
import { refusalOf } from '../src/domain/testing/refusal.ts';
import { createTestDriver } from '../src/domain/testing/test-drivers.ts';
import { createTestRun } from '../src/tasks/testing/test-run.ts';
import { openUploadArea } from '../src/tasks/upload-area.ts';
import { uploadKind } from '../src/tasks/upload-kind.ts';

let dir: TempDir;
beforeEach(async () => {
  dir = await makeTempDir('upload-kind');
});
afterEach(() => dir.remove());

const kept = async () => (await readdir(join(dir.path, 'uploads'))).filter((name) => name !== 'id');

/** A body that waits for a storage that is full. */
async function openWaiting() {
  const full = createTestDriver('Full');
  const { operation } = await openTree({ drivers: [full.definition], storages: [{ driver: 'Full' }] });
  let onWrite = () => {};
  full.failWrites(() => {
    onWrite();
    return true;
  });
  const area = openUploadArea(join(dir.path, 'uploads'), 1_000);
  const { signal } = new AbortController();
  const { file, sizeBytes } = await area.receive(bytesOf('text'), { sizeBytes: 4, expectedHashes: {}, signal });
  const kind = uploadKind(area, async () => operation());
  const input = kind.encodeInput({ path: '/f', storage: 1, file, sizeBytes, modified: 0, overwrite: false, hashes: {} });
  const attempts = createTestRun({ signal });
  return {
    run: () => kind.run(attempts.begin(input)),
    loseInBetween() {
      onWrite = attempts.lose;
    },
  };
}

it('C17: an upload that failed because there is no room does not keep its body', async () => {
  const { run } = await openWaiting();
  expect((await refusalOf(run()))[0]).toBe('QUOTA_EXCEEDED');
  expect(await kept()).toEqual([]);
});

it('whoever has lost the task leaves the body to the one who has it', async () => {
  const { run, loseInBetween } = await openWaiting();
  loseInBetween();
  expect((await refusalOf(run()))[0]).toBe('CANCELLED');
  expect(await kept()).toHaveLength(1);
});
