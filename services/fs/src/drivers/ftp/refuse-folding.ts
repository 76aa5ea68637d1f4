import { isEntryName, MOUNT_ROOT } from '@wharf/paths';
import { foldsCase, otherCase } from '../../driver-contract/folding.ts';
import type { ListingRoom } from '../../driver-contract/listing-room.ts';
import { childPlace } from '../../driver-contract/remote-places.ts';
import type { FtpSession } from './client.ts';
import { KeptEntries, readFolder } from './folder.ts';
import { kindOf, orRefused } from './look.ts';
import type { RemoteRoot } from './remote-root.ts';
import type { FtpSettings } from './settings.ts';

/** So many names are asked for in the other case where nothing can be made. */
const MAX_ASKED = 8;

/**
 * Tries out whether the server tells `A` from `a`: by a folder that is made for it, or by what is there.
 *
 * @param temp a name of ours in the root. @throws AppError FAILED_PRECONDITION: it does not
 */
export async function refuseFolding(
  session: FtpSession,
  settings: FtpSettings,
  root: RemoteRoot,
  temp: string,
  room: ListingRoom,
  signal: AbortSignal,
): Promise<void> {
  const place = root.place(MOUNT_ROOT);
  const answersTo = async (name: string) => {
    const other = otherCase(name);
    return other !== undefined && (await kindOf(session, childPlace(place, other))) !== undefined;
  };
  if ((await orRefused(session.ask('MKD', childPlace(place, temp)))) !== undefined) {
    try {
      if (await answersTo(temp)) throw foldsCase();
    } finally {
      await orRefused(session.ask('RMD', childPlace(place, temp)));
    }
    return;
  }
  const listed = await readFolder(session, settings, place, signal, () => new KeptEntries(room));
  try {
    let asked = 0;
    for (const { name } of listed.values()) {
      if (!isEntryName(name)) continue;
      if (!listed.has(otherCase(name) ?? name) && (await answersTo(name))) throw foldsCase();
      asked += 1;
      if (asked === MAX_ASKED) return;
    }
  } finally {
    listed.leave();
  }
}
