import { createPace } from '@wharf/pace';
import { childPath, type MountPath, nameAt } from '@wharf/paths';
import { takeEntries } from '../../driver-contract/entry-map.ts';
import { folderNamed } from '../../driver-contract/folder-named.ts';
import { type Entry, type StorageDriver, supports } from '../../driver-contract/storage-driver.ts';
import { looksLikeCopy, mayBeCopy } from './looks-like-copy.ts';
import type { OwnCall, Place } from './operations/operation.ts';
import { haveSameContent } from './same-content.ts';

/** For taking back what should not have been done, in milliseconds, at least. */
const BACK_MS = 30_000;
/** What takes long may take long to take back. Not the caller's signal, nor among the caller's turns: whoever leaves, or has much under way, would have it stay. */
export const takingBack = (tookMs: number) => ({ signal: AbortSignal.timeout(Math.max(BACK_MS, 2 * tookMs)), isPatient: true }) as const;

/**
 * Takes away what a copy made, as far as the storage lets it: a file that is another one by then is somebody else's, and so is what came into a folder since.
 *
 * @param from what was copied
 */
export async function removeCopy({ driver, path }: Place, from: MountPath, made: Entry, call: OwnCall): Promise<void> {
  if (!supports(driver, 'remove')) return;
  if (!isTree(made)) return driver.remove(path, { ...call, ...alone(made) }).catch(() => undefined);
  const isOfOthers = await holdsOthers(driver, from, path, call).catch(() => true);
  // Where the source cannot be listed any more, nobody knows what of it is a copy, and it stays.
  if (isOfOthers) return removeCopiedIn(driver, from, path, call).catch(() => undefined);
  await driver.remove(path, { ...call, recursive: true }).catch(() => undefined);
}

/** What a link leads to is no part of a copy. */
const isTree = ({ isDirectory, isLink }: Entry) => isDirectory && !isLink;
/** Of a link to a folder nothing tells whether it is another one. */
const alone = (entry: Entry) => ({ recursive: false, onlyIf: entry });

/** Both folders of a copy, also with what settings of the storage leave out of listings: others may have stored that too. */
async function listBoth(driver: StorageDriver, from: MountPath, to: MountPath, call: OwnCall) {
  const all = { ...call, seesAll: true } as const;
  const sources = await takeEntries(driver.list(from, all));
  return { sources, copies: (await takeEntries(driver.list(to, all))).values(), pace: createPace(call.signal) };
}

/** Whether a copied folder holds, as far as its storage tells, what its source has not, or has otherwise. */
async function holdsOthers(driver: StorageDriver, from: MountPath, to: MountPath, call: OwnCall): Promise<boolean> {
  const { sources, copies, pace } = await listBoth(driver, from, to, call);
  for (const entry of copies) {
    await pace.step();
    if (!looksCopied(driver, sources.get(entry.name), entry)) return true;
    if (isTree(entry) && (await holdsOthers(driver, childPath(from, entry.name), childPath(to, entry.name), call))) return true;
  }
  return false;
}

/** Takes away what is copied in a folder, and it where nothing else is in it. */
async function removeCopiedIn(driver: RemovingDriver, from: MountPath, to: MountPath, call: OwnCall): Promise<void> {
  const { sources, copies, pace } = await listBoth(driver, from, to, call);
  for (const entry of copies) {
    await pace.step();
    const [source, target] = [childPath(from, entry.name), childPath(to, entry.name)];
    if (!(await isCopied(driver, [source, sources.get(entry.name)], [target, entry], call))) continue;
    if (isTree(entry)) await removeCopiedIn(driver, source, target, call);
    else await driver.remove(target, { ...call, ...alone(entry) }).catch(() => undefined);
  }
  await driver.remove(to, { ...call, recursive: false, onlyIf: folderNamed(nameAt(to)) }).catch(() => undefined);
}

type RemovingDriver = StorageDriver & Required<Pick<StorageDriver, 'remove'>>;

/** A copy that a server makes may have a date of its own: then the content tells, and what is the same is nobody's loss. */
async function isCopied(
  driver: StorageDriver,
  [from, source]: readonly [MountPath, Entry | undefined],
  [to, copy]: readonly [MountPath, Entry],
  call: OwnCall,
): Promise<boolean> {
  if (looksCopied(driver, source, copy)) return true;
  if (!source || !mayBeCopy(source, copy)) return false;
  return haveSameContent({ driver, path: from }, { driver, path: to }, call).catch(() => false);
}

/** By hash, or size and date, where the storage keeps these. */
function looksCopied(driver: StorageDriver, source: Entry | undefined, copy: Entry): boolean {
  if (source?.isDirectory !== copy.isDirectory) return false;
  return copy.isDirectory || looksLikeCopy(source, copy, driver) === true;
}
