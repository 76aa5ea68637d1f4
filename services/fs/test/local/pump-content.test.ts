import { randomBytes } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lendPieces, makeTempDir } from '@wharf/harness';
import { expect, it } from 'vitest';
import { createIoSlots } from '../../src/drivers/local/io-slots.ts';
import { pumpContent } from '../../src/drivers/local/pump-content.ts';

it.each([
  ['small', [1, 7, 4_096, 65_536]],
  ['big', [131_072, 300_000]],
  ['small and big', [10, 200_000, 65_536, 1_000_000, 131_072]],
])('%s pieces that are lent are in the file as they were, by several writers at once', async (_title, sizes) => {
  const dir = await makeTempDir('pump');
  const file = join(dir.path, 'file');
  const content = randomBytes(5_000_000);
  const half = 2_345_678;
  const handle = await open(file, 'w');
  const slots = createIoSlots();
  const written = await Promise.all([
    pumpContent(handle.fd, lendPieces(content.subarray(half), sizes), slots, half),
    pumpContent(handle.fd, lendPieces(content.subarray(0, half), sizes), slots),
    pumpContent(handle.fd, lendPieces(Buffer.alloc(0), sizes), slots),
  ]);
  expect(written).toEqual([content.byteLength - half, half, 0]);
  await handle.close();
  expect((await readFile(file)).equals(content)).toBe(true);
  await dir.remove();
});
