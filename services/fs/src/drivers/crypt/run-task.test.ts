import { expect, it } from 'vitest';
import { BLOCK_BYTES, NONCE_BYTES } from './format.ts';
import { runTask } from './run-task.ts';

it.each([1, 15, 16, BLOCK_BYTES + 17])('blocks that are cut after %i bytes are not what was sealed', (sizeBytes) => {
  const of = { key: new Uint8Array(32).fill(1), nonce: new Uint8Array(NONCE_BYTES), firstBlock: 0 };
  const stored = runTask({ ...of, seals: true, bytes: new Uint8Array(2 * BLOCK_BYTES).fill(2) });
  expect(runTask({ ...of, seals: false, bytes: stored?.slice(0, sizeBytes) ?? new Uint8Array() })).toBeUndefined();
});
