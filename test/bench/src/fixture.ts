import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { generateContent, makeTempDir } from '@wharf/harness';

/** The same folder is what Wharf mounts and what the other file servers serve. */
export interface Fixture {
  readonly filesDir: string;
  /** Where the other servers put uploads. */
  readonly uploadsDir: string;
  /** For names that are searched in the store; empty. */
  readonly storeNamesDir: string;
  /** Entries of the folders `small`, `medium` and `large`. */
  readonly entries: { readonly small: number; readonly medium: number; readonly large: number; readonly many: number };
  /** Sizes of `small.bin`, of `big.bin`, and of each file in `many`. */
  readonly sizeBytes: { readonly small: number; readonly big: number; readonly each: number };
  remove(): Promise<void>;
}

const FILES_AT_ONCE = 64;

export async function makeFixture(isQuick: boolean): Promise<Fixture> {
  const dir = await makeTempDir('bench');
  const filesDir = join(dir.path, 'files');
  const uploadsDir = join(dir.path, 'uploads');
  const storeNamesDir = join(dir.path, 'store-names');
  const entries = { small: 30, medium: 1_000, large: isQuick ? 10_000 : 100_000, many: isQuick ? 1_000 : 10_000 };
  const sizeBytes = { small: 4 * 1024, big: (isQuick ? 64 : 1024) * 1024 * 1024, each: 10 * 1024 };
  for (const folder of [uploadsDir, storeNamesDir]) await mkdir(folder, { recursive: true });
  for (const name of ['small', 'medium', 'large'] as const) await makeFolder(join(filesDir, name), entries[name]);
  await makeFolder(join(filesDir, 'many'), entries.many, Buffer.alloc(sizeBytes.each, 'wharf '));
  await makeFile(join(filesDir, 'small.bin'), sizeBytes.small);
  await makeFile(join(filesDir, 'big.bin'), sizeBytes.big);
  return { filesDir, uploadsDir, storeNamesDir, entries, sizeBytes, remove: () => dir.remove() };
}

/** Files `holiday picture 000001.jpg` and so on. @param content a few bytes of their own where it is missing: what a listing costs does not depend on it. */
export async function makeFolder(path: string, count: number, content?: Uint8Array): Promise<void> {
  await mkdir(path, { recursive: true });
  let next = 0;
  const maker = async () => {
    while (next < count) {
      next += 1;
      const number = String(next).padStart(6, '0');
      await writeFile(join(path, `holiday picture ${number}.jpg`), content ?? number);
    }
  };
  await Promise.all(Array.from({ length: FILES_AT_ONCE }, maker));
}

async function makeFile(path: string, sizeBytes: number): Promise<void> {
  await pipeline(generateContent('bench', sizeBytes), createWriteStream(path));
}
