import { randomBytes } from 'node:crypto';
import { link, open, rename, rm, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Makes a file (0600) with this text, whole and durable or not at all; one that is there stays as it is. Of several at once one wins. */
export async function writeOnce(file: string, text: string): Promise<void> {
  await withWritten(file, text, async (made) => {
    await link(made, file).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
    await unlink(made);
  });
}

/** The same, but replaces a file that is there. */
export async function replaceFile(file: string, content: string | AsyncIterable<Uint8Array>): Promise<void> {
  await withWritten(file, content, (made) => rename(made, file));
}

/** A name that no other process and no earlier start has used: what a killed one left behind is in nobody's way. */
async function withWritten(
  file: string,
  content: string | AsyncIterable<Uint8Array>,
  publish: (made: string) => Promise<void>,
): Promise<void> {
  const made = `${file}.${randomBytes(8).toString('hex')}.new`;
  const handle = await open(made, 'wx', 0o600);
  try {
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await publish(made);
  } catch (error) {
    // It may be as large as a backup.
    await rm(made, { force: true });
    throw error;
  }
  const folder = await open(dirname(file));
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
