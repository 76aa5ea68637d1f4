import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TempDir {
  /** Absolute and free of symlinks. */
  readonly path: string;
  /** Deletes the folder with all it holds; safe to call twice. */
  remove(): Promise<void>;
}

/** Makes an empty folder (0700) of its own for one test. */
export async function makeTempDir(purpose = 'test'): Promise<TempDir> {
  const path = await mkdtemp(join(await realpath(tmpdir()), `wharf-${purpose}-`));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
}
