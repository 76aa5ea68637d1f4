import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';

/** Paths of what lies in a folder, itself included. */
export async function everythingIn(folder: string): Promise<string[]> {
  return [folder, ...(await readdir(folder, { recursive: true })).map((name) => join(folder, name))];
}

/** Fails when a file in the folder holds the text, plain or in base64. */
export async function requireAbsent(folder: string, text: string): Promise<void> {
  const forms = [Buffer.from(text), Buffer.from(Buffer.from(text).toString('base64').replace(/=+$/, ''))];
  for (const path of await everythingIn(folder)) {
    if (!(await lstat(path)).isFile()) continue;
    const content = await readFile(path);
    for (const form of forms) expect(content.includes(form), path).toBe(false);
  }
}
