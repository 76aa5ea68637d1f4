import { AppError } from '@wharf/errors';
import { childPath, isEntryName, MOUNT_ROOT, type MountPath } from '@wharf/paths';
import { foldsCase, spellingsToAsk } from '../../driver-contract/folding.ts';
import { throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { GatewayClient } from './client.ts';
import { isFarName } from './far-names.ts';

type Gateway = Pick<GatewayClient, 'list' | 'find'>;

/** The root of a gateway is made of its storages: so many folders in the folder that is shown are looked at too. */
const MAX_FOLDERS = 4;
/** So many names of a folder are asked for in other spellings. */
const MAX_ASKED = 8;
/** A folder with more entries tells nothing: what has another spelling may be among those that were not read. */
const MAX_NAMES = 10_000;
/** All of it takes so long at most, in milliseconds: storages of the gateway may be away. */
const TRY_MS = 5_000;

/**
 * Tries out, with names that are there, whether the gateway tells `A` from `a`, and `\u00e9` from `e` with an accent of its own: one that shows a disk of
 * Windows or macOS may not. What cannot be listed in time tells nothing.
 *
 * @throws AppError FAILED_PRECONDITION: it does not
 */
export async function refuseFolding(gateway: Gateway, { signal }: { readonly signal: AbortSignal }): Promise<void> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(TRY_MS)]);
  try {
    const root = await tryFolder(gateway, MOUNT_ROOT, until);
    let { isFolded } = root;
    for (const folder of root.folders) isFolded ||= (await tryFolder(gateway, folder, until)).isFolded;
    if (isFolded) throw foldsCase();
  } finally {
    throwIfAborted(signal);
  }
}

async function tryFolder(gateway: Gateway, folder: MountPath, signal: AbortSignal): Promise<{ isFolded: boolean; folders: MountPath[] }> {
  const names = new Set<string>();
  const folders: MountPath[] = [];
  const told = { folders, isFolded: false };
  try {
    for await (const { name, isDirectory } of gateway.list(folder, { signal })) {
      if (!isEntryName(name) || isFarName(name)) continue;
      names.add(name);
      if (isDirectory && folders.length < MAX_FOLDERS) folders.push(childPath(folder, name));
      if (names.size > MAX_NAMES) return told;
    }
    for (const other of spellingsToAsk(names, (name) => names.has(name), MAX_ASKED).filter(isEntryName))
      if (await gateway.find(`${folder === MOUNT_ROOT ? '' : folder}/${other}`, { signal })) return { ...told, isFolded: true };
  } catch (error) {
    if (!AppError.is(error)) throw error;
  }
  return told;
}
