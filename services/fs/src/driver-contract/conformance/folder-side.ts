import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { StorageUnderTest } from './rule.suite.ts';

/** What a test knows of a storage whose files lie in a folder of this machine. */
export function folderSide(folder: string): Required<Pick<StorageUnderTest, 'seed' | 'leftovers'>> {
  return {
    async seed(paths) {
      for (const file of paths) {
        await mkdir(path.join(folder, path.dirname(file)), { recursive: true });
        await writeFile(path.join(folder, file), '');
      }
    },
    leftovers: async () => (await readdir(folder, { recursive: true })).filter((name) => name.includes('.wharf-tmp')),
  };
}
