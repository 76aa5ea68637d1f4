import { posix } from 'node:path';
import { createGate } from '@wharf/pace';
import { carriedText, leadsOut, MAX_LINK_LENGTH } from '../../driver-contract/carried-links.ts';
import { childPlace, isOneName, MAX_PLACE_LENGTH } from '../../driver-contract/remote-places.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import type { RemoteAttrs, SftpSession } from './client.ts';
import { isRefusal } from './errors.ts';
import { folderPages } from './folder-pages.ts';
import { placeExclusively, replace, type Target } from './publish-file.ts';
import { orAbsent } from './remote-root.ts';

/** Folders, and links of one folder, that are looked at at once. */
const PARALLEL = 8;
/** A folder with more entries at all depths is moved by copying: its files are listed then, and bounded, anyway. */
const MAX_ENTRIES = 100_000;
/** What the places of folders and links have that wait to be looked at, in characters: each has all of its path. */
const MAX_WAITING_LENGTH = 8 * 1024 * 1024;
/** What takes the place of bytes that are no UTF-8: such a text cannot be written again. */
const REPLACEMENT = '\ufffd';

/**
 * What a link must say to lead from its new place where it leads now.
 *
 * @returns undefined where an entry can be moved as it is
 * @throws AppError UNSUPPORTED_OPERATION: a folder with links out of it, or more than can be looked at; a link that cannot be written anew
 */
export async function textElsewhere(
  session: SftpSession,
  { kind }: RemoteAttrs,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (kind !== 'link' && kind !== 'folder') return undefined;
  try {
    const [fromFolder, toFolder] = await Promise.all([session.realpath(posix.dirname(from)), session.realpath(posix.dirname(to))]);
    if (fromFolder === toFolder) return undefined;
    if (kind === 'folder') {
      if (await hasLinkOut(session, from, signal)) throw storageError('UNSUPPORTED_OPERATION');
      return undefined;
    }
    const text = await session.readLink(from);
    if (posix.isAbsolute(text)) return undefined;
    if (text.length > MAX_LINK_LENGTH) throw storageError('UNSUPPORTED_OPERATION');
    const target = await orAbsent(session.realpath(from));
    const carried = carriedText({ text, fromFolder, toFolder, target }, posix);
    if (!session.makesLinks || carried.includes(REPLACEMENT)) throw storageError('UNSUPPORTED_OPERATION');
    return carried;
  } catch (error) {
    throw isRefusal(error) ? storageError('UNSUPPORTED_OPERATION', error) : error;
  }
}

/** Puts a link with another text in the place of one. @param temp a name of ours in the new folder */
export async function moveLink(session: SftpSession, text: string, [from, temp]: [string, string], to: Target, overwrite: boolean) {
  await session.makeLink(text, temp);
  try {
    await (overwrite ? replace : placeExclusively)(session, temp, to);
  } catch (error) {
    await session.removeFile(temp).catch(() => undefined);
    throw error;
  }
  await session.removeFile(from);
}

interface Folder {
  readonly place: string;
  /** Its path in the folder that is moved. */
  readonly inner: string;
}

/** Whether a relative link somewhere in a folder leads out of it. @throws AppError UNSUPPORTED_OPERATION: there is too much in it */
async function hasLinkOut(session: SftpSession, place: string, signal: AbortSignal): Promise<boolean> {
  const gate = createGate(PARALLEL);
  let [entries, waitingLength] = [0, place.length];
  const look = async ({ place: at, inner }: Folder): Promise<{ isOut: boolean; folders: Folder[] }> => {
    const links: string[] = [];
    const folders: Folder[] = [];
    for await (const page of folderPages(session, at, signal)) {
      entries += page.length;
      if (entries > MAX_ENTRIES || at.length > MAX_PLACE_LENGTH) throw storageError('UNSUPPORTED_OPERATION');
      for (const { name, attrs } of page.filter((item) => isOneName(item.name))) {
        if (attrs.kind !== 'link' && attrs.kind !== 'folder') continue;
        const found = childPlace(at, name);
        waitingLength += found.length;
        if (waitingLength > MAX_WAITING_LENGTH) throw storageError('UNSUPPORTED_OPERATION');
        if (attrs.kind === 'link') links.push(found);
        else folders.push({ place: found, inner: `${inner}/${name}` });
      }
    }
    const inTurn = createGate(PARALLEL);
    // A text is let go of at once: a server may have said hundreds of KiB.
    const outward = await Promise.all(links.map((link) => inTurn.run(async () => leadsOut(await session.readLink(link), inner, posix))));
    waitingLength -= lengthOf(links);
    return { isOut: outward.includes(true), folders };
  };
  for (let level: Folder[] = [{ place, inner: '' }]; level.length > 0; ) {
    const seen = await Promise.all(level.map((folder) => gate.run(() => look(folder))));
    if (seen.some(({ isOut }) => isOut)) return true;
    waitingLength -= lengthOf(level.map((folder) => folder.place));
    level = seen.flatMap(({ folders }) => folders);
  }
  return false;
}

function lengthOf(places: readonly string[]): number {
  return places.reduce((sum, { length }) => sum + length, 0);
}
