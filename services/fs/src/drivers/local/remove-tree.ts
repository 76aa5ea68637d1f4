import fs from 'node:fs';
import { systemCodeOf } from '@wharf/errors';
import { createPace, type Pace } from '@wharf/pace';
import { FolderChain } from './folder-chain.ts';
import { namesIn } from './names-in.ts';

/**
 * Entries that appear while a folder is emptied are removed too, so many times. On some file systems what comes behind moves forward as entries are removed,
 * so that half of a folder stays each time.
 */
const MAX_ROUNDS = 30;

/** Removes a folder with all it holds, from the bottom up. A link is removed, never followed, also when it takes a folder's place meanwhile. */
export async function removeTree(place: string, signal: AbortSignal | undefined): Promise<void> {
  await removeFolder(new FolderChain(), Buffer.from(place), createPace(signal));
}

async function removeFolder(chain: FolderChain, name: Buffer, pace: Pace): Promise<void> {
  for (let round = 1; ; round++) {
    await chain.within(name, () => removeContent(chain, pace));
    try {
      fs.rmdirSync(chain.at(name));
      return;
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOTEMPTY' || round === MAX_ROUNDS) throw error;
    }
  }
}

async function removeContent(chain: FolderChain, pace: Pace): Promise<void> {
  for (const name of namesIn(chain.prefix)) {
    await pace.step();
    await removeEntry(chain, name, pace);
  }
}

async function removeEntry(chain: FolderChain, name: Buffer, pace: Pace): Promise<void> {
  try {
    if (fs.lstatSync(chain.at(name)).isDirectory()) await removeFolder(chain, name, pace);
    else fs.unlinkSync(chain.at(name));
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw error;
  }
}
