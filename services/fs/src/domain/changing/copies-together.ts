import { unlessAborted } from '@wharf/pace';
import { supports, type WholeWrite } from '../../driver-contract/storage-driver.ts';
import type { CopiedFile, FileCopy } from './copy-file.ts';
import type { Place } from './operations/operation.ts';
import { isDeep, readTogether, writeTogether } from './small-files.ts';

/** Whether small files are read and stored together where they come from and go to. */
export function areCopiedTogether(from: Pick<Place, 'driver'>, to: Pick<Place, 'driver'>): boolean {
  return supports(from.driver, 'readMany') && supports(to.driver, 'writeMany');
}

/**
 * As `copyFile` does it, of a small file: those that are wanted in the same moment, by whatever tasks, are read in one call, and stored in one. What ends one
 * of them ends no other one.
 *
 * @param mayPublishUntil asked for this file alone, as in WholeWrite. @returns undefined: it is to be copied by itself
 */
export async function copyTogether(
  { from, to, overwrite, signal, isPatient, onOpened, onBytes }: FileCopy,
  mayPublishUntil: WholeWrite['mayPublishUntil'],
): Promise<CopiedFile | undefined> {
  const { driver } = to;
  if (!supports(driver, 'writeMany') || isDeep(to.path)) return undefined;
  const file = await unlessAborted(signal, readTogether(from.driver, from.path, { isPatient }));
  // One that changes while it is read, or whose content is to be held to a hash, is looked after by who reads and writes it as a stream.
  if (!file || file.entry.hashes || file.entry.sizeBytes !== file.bytes.byteLength) return undefined;
  await onOpened?.(file.bytes.byteLength);
  const { bytes: content, entry } = file;
  const ask = async () => {
    signal.throwIfAborted();
    return mayPublishUntil();
  };
  const write = { file: to.path, content, overwrite, modifiedAt: entry.modifiedAt, mayPublishUntil: ask };
  const stored = await writeTogether(driver, write, { isPatient });
  onBytes?.(content.byteLength);
  return { source: entry, target: stored, readBytes: undefined };
}
