import fs from 'node:fs';
import { createPace, type Pace } from '@wharf/pace';
import { openChildFolder } from './confined-root.ts';
import { errnoOf } from './errors.ts';

/** Entries that appear while a folder is emptied are removed too, so many times. */
const MAX_ROUNDS = 10;

/** Removes a folder with all it holds, from the bottom up. A link is removed, never followed, also when it takes a folder's place meanwhile. */
export async function removeTree(place: string, signal: AbortSignal | undefined): Promise<void> {
  await removeFolder(Buffer.from(place), createPace(signal));
}

async function removeFolder(place: Buffer, pace: Pace): Promise<void> {
  for (let round = 1; ; round++) {
    await removeContent(place, pace);
    try {
      fs.rmdirSync(place);
      return;
    } catch (error) {
      if (errnoOf(error) !== 'ENOTEMPTY' || round === MAX_ROUNDS) throw error;
    }
  }
}

async function removeContent(place: Buffer, pace: Pace): Promise<void> {
  const { fd, prefix } = openChildFolder(place);
  try {
    for (const name of fs.readdirSync(prefix, { encoding: 'buffer' })) {
      await pace.step();
      await removeEntry(Buffer.concat([prefix, name]), pace);
    }
  } finally {
    fs.closeSync(fd);
  }
}

async function removeEntry(place: Buffer, pace: Pace): Promise<void> {
  try {
    if (fs.lstatSync(place).isDirectory()) await removeFolder(place, pace);
    else fs.unlinkSync(place);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}
