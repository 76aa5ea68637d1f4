import { type Handle, OPEN, type SftpSession } from './client.ts';
import { isRefusal } from './errors.ts';

/** What is written of a file each time that it is opened, the second time out of order. */
const ROUNDS = [
  [{ text: 'a', at: 0 }],
  [
    { text: 'c', at: 2 },
    { text: 'b', at: 1 },
  ],
] as const;
const WHOLE = 'abc';

/**
 * Tries whether a file that is opened again has what was written to it before, and takes more in any order, as drafts need it. rclone's server empties each file
 * that is opened for writing, whatever it is asked for.
 *
 * Where nothing can be made at the moment, as in the root of most servers that shut their users in, or on a full disk, a server that writes to the disk when it
 * is told (`fsync`) is one of files: OpenSSH has that, rclone has not.
 *
 * @param place a name of ours
 */
export async function keepsDrafts(session: SftpSession, place: string): Promise<boolean> {
  let flags: number = OPEN.CREATE | OPEN.EXCLUSIVE;
  let isMade = false;
  try {
    for (const round of ROUNDS) {
      await using(session, place, OPEN.READ | OPEN.WRITE | flags, async (handle) => {
        for (const { text, at } of round) await session.write(handle, Buffer.from(text), at);
      });
      isMade = true;
      flags = 0;
    }
    if ((await session.lstat(place)).sizeBytes !== WHOLE.length) return false;
    const read = Buffer.alloc(WHOLE.length);
    await using(session, place, OPEN.READ, (handle) => session.read(handle, read, 0, read.length, 0));
    return read.toString() === WHOLE;
  } catch (error) {
    if (isRefusal(error)) return !isMade && session.extensions.fsync;
    throw error;
  } finally {
    await session.removeFile(place).catch(() => undefined);
  }
}

async function using(session: SftpSession, place: string, flags: number, work: (handle: Handle) => Promise<unknown>): Promise<void> {
  const handle = await session.open(place, flags);
  try {
    await work(handle);
  } catch (error) {
    await session.close(handle).catch(() => undefined);
    throw error;
  }
  await session.close(handle);
}
