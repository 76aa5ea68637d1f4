import fs from 'node:fs';
import { createPace, type Pace } from '@wharf/pace';
import { carriedText, leadsOut } from '../../driver-contract/carried-links.ts';
import { FolderChain } from './folder-chain.ts';
import { namesIn } from './names-in.ts';

// Texts of links need not be UTF-8: here they are strings of bytes (latin1).

/** The text that a link must have in another folder to lead where it leads now. @param place where the link is. @param toFolder free of links, as `fromFolder` */
export function carriedLink(place: string | Buffer, fromFolder: string, toFolder: string): Buffer {
  const [from, to] = [Buffer.from(fromFolder).toString('latin1'), Buffer.from(toFolder).toString('latin1')];
  return Buffer.from(carriedText({ text: textOf(place), fromFolder: from, toFolder: to, target: targetOf(place) }), 'latin1');
}

/** Whether a folder has a relative link somewhere in it that leads out of it: moved along, it would lead elsewhere. */
export async function hasLinkOut(folder: string, signal: AbortSignal | undefined): Promise<boolean> {
  const chain = new FolderChain();
  return chain.within(Buffer.from(folder), () => findLinkOut(chain, '', createPace(signal)));
}

/** Whether a link leads out of the folder that is carried. @param inner the link's own folder in it, such as `a/b` */
export function isLinkOut(place: string | Buffer, inner: string): boolean {
  return leadsOut(textOf(place), inner);
}

async function findLinkOut(chain: FolderChain, inner: string, pace: Pace): Promise<boolean> {
  // What is neither a file nor known to be one.
  for (const name of namesIn(chain.prefix, (entry) => !entry.isFile())) {
    await pace.step();
    const stats = fs.lstatSync(chain.at(name), { throwIfNoEntry: false });
    if (stats?.isSymbolicLink() && isLinkOut(chain.at(name), inner)) return true;
    const within = `${inner}/${name.toString('latin1')}`;
    if (stats?.isDirectory() && (await chain.within(name, () => findLinkOut(chain, within, pace)))) return true;
  }
  return false;
}

function textOf(place: string | Buffer): string {
  return fs.readlinkSync(place, { encoding: 'buffer' }).toString('latin1');
}

function targetOf(place: string | Buffer): string | undefined {
  try {
    return fs.realpathSync.native(place, { encoding: 'buffer' }).toString('latin1');
  } catch {
    return undefined;
  }
}
