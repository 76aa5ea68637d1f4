import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { replaceFile } from '../src/index.ts';

let dir: TempDir;
beforeEach(async () => {
  dir = await makeTempDir('write-once');
});
afterEach(() => dir.remove());

async function* failing() {
  yield Buffer.alloc(1_000);
  throw new Error('no more of it');
}

it('a file that cannot be written whole, or gets no name, leaves nothing', async () => {
  const file = join(dir.path, 'file');
  await expect(replaceFile(file, failing())).rejects.toThrow('no more of it');
  await mkdir(join(file, 'full'), { recursive: true });
  await expect(replaceFile(file, 'text')).rejects.toMatchObject({ code: 'EISDIR' });
  expect(await readdir(dir.path)).toEqual(['file']);
});
