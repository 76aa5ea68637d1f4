import fs from 'node:fs';
import { promisify } from 'node:util';
import type { MountPath } from '@wharf/paths';
import type { Call } from '../../driver-contract/calls.ts';
import type { Entry, WriteOptions } from '../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { Disk } from './disk-pool.ts';
import { unpackOne } from './packed-entries.ts';
import type { TempRef } from './temp-area.ts';

/** So often the name may be given to something else between a question and its answer. */
const MAX_QUESTIONS = 100;

const closeHandle = promisify(fs.close);

/** A finished temporary file, open. */
export interface FinishedFile {
  readonly temp: TempRef;
  readonly fd: number;
  readonly isDraft: boolean;
}

/**
 * Gives a finished temporary file its name. The handle is closed, whatever comes; the name itself is not given up half way for an abort: whether
 * the file has it would then be unknown.
 *
 * @param commit called before the name is given
 */
export async function publishFile(
  disk: Disk,
  { temp, fd, isDraft }: FinishedFile,
  file: MountPath,
  { overwrite, beforePublish, signal }: Pick<WriteOptions, 'overwrite' | 'beforePublish' | 'signal'>,
  commit: Call['commit'] = async () => undefined,
): Promise<Entry> {
  if (!beforePublish) {
    await commit().catch(async (error) => {
      await closeHandle(fd);
      throw error;
    });
    return unpackOne(file, await disk.call(isDraft ? 'publishDraft' : 'publish', [temp, fd, file, overwrite]));
  }
  for (let question = 1; question <= MAX_QUESTIONS; question++) {
    let seen: string;
    try {
      seen = await disk.call('seal', [fd, file, overwrite, isDraft]);
      await beforePublish();
      throwIfAborted(signal);
      await commit();
    } catch (error) {
      await closeHandle(fd);
      throw error;
    }
    const packed = await disk.call('publishSealed', [temp, fd, file, overwrite, seen]);
    if (packed !== undefined) return unpackOne(file, packed);
  }
  await closeHandle(fd);
  throw storageError('STALE_VERSION');
}
