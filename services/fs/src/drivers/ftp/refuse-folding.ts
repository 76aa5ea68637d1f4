import { isEntryName, MOUNT_ROOT } from '@wharf/paths';
import { foldsCase, otherSpellings, spellingsToAsk } from '../../driver-contract/folding.ts';
import type { ListingRoom } from '../../driver-contract/listing-room.ts';
import { childPlace } from '../../driver-contract/remote-places.ts';
import { newDoomedName, newSpelledName } from '../../driver-contract/temp-names.ts';
import type { FtpSession } from './client.ts';
import { KeptEntries, readFolder } from './folder.ts';
import { kindOf, orRefused } from './look.ts';
import type { RemoteRoot } from './remote-root.ts';
import type { FtpSettings } from './settings.ts';

/** So many names are asked for in other spellings where nothing can be made. */
const MAX_ASKED = 8;

/**
 * Tries out whether the server tells `A` from `a`, and NFC from NFD: by a folder that is made for it, or by what is there.
 *
 * @throws AppError FAILED_PRECONDITION: it does not
 */
export async function refuseFolding(
  session: FtpSession,
  settings: FtpSettings,
  root: RemoteRoot,
  room: ListingRoom,
  signal: AbortSignal,
): Promise<void> {
  const place = root.place(MOUNT_ROOT);
  const refuse = async (others: readonly string[]) => {
    const sayable = others.filter(settings.names.canSay);
    for (const other of sayable) if ((await kindOf(session, childPlace(place, other))) !== undefined) throw foldsCase();
  };
  // Not every server has names beyond ASCII, nor does every character set.
  for (const temp of [newSpelledName(Date.now()), newDoomedName(Date.now())].filter(settings.names.canSay)) {
    if ((await orRefused(session.ask('MKD', childPlace(place, temp)))) === undefined) continue;
    try {
      return await refuse(otherSpellings(temp));
    } finally {
      await orRefused(session.ask('RMD', childPlace(place, temp)));
    }
  }
  const listed = await readFolder(session, settings, place, signal, () => new KeptEntries(room));
  try {
    await refuse(spellingsToAsk(entryNames(listed), (name) => listed.has(name), MAX_ASKED));
  } finally {
    listed.leave();
  }
}

function* entryNames(listed: KeptEntries): Generator<string> {
  for (const { name } of listed.values()) if (isEntryName(name)) yield name;
}
