import fs from 'node:fs';
import { createGate } from '@wharf/pace';
import { expect, it } from 'vitest';
import { fileContent } from './file-content.ts';

const entry = { name: 'a', isDirectory: false, sizeBytes: 5, modifiedAt: new Date(0) } as unknown as Parameters<typeof fileContent>[0];

it('a file that is opened for a client that has gone is closed, though nobody reads it', async () => {
  const fd = fs.openSync(import.meta.filename, 'r');
  fileContent(entry, fd, 0, 5, createGate(1), { signal: AbortSignal.abort() });
  const { ino } = fs.statSync(import.meta.filename);
  await expect.poll(() => isOpenAt(fd, ino)).toBe(false);
});

/** The system may give the number to another file. */
function isOpenAt(fd: number, ino: number): boolean {
  try {
    return fs.fstatSync(fd).ino === ino;
  } catch {
    return false;
  }
}
