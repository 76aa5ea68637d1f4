import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '@wharf/pace';
import { replaceFile } from '@wharf/service-kit';
import { z } from 'zod';
import type { DiskNotes } from '../domain/mounts/known-disks.ts';

const MAX_ROOTS = 1_000;
const shape = z.record(z.string(), z.string());

/** Notes in a data folder. What is damaged, or not there, tells nothing; of too many the newest stay. */
export function diskNotesIn(dataFolder: string): DiskNotes {
  const file = join(dataFolder, 'disks.json');
  return {
    file,
    async read() {
      const text = await readFile(file, 'utf8').catch(() => '');
      return new Map(Object.entries(shape.safeParse(parseJson(text)).data ?? {}));
    },
    write: (notes) => replaceFile(file, JSON.stringify(Object.fromEntries([...notes].slice(-MAX_ROOTS)), undefined, 2)),
  };
}
