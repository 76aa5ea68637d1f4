import fs from 'node:fs';
import path from 'node:path';
import { AppError, systemCodeOf } from '@wharf/errors';
import { isProbeName } from '../../driver-contract/temp-names.ts';
import { isAbsence } from './errors.ts';
import { placeExclusively, placeFolderExclusively } from './place-entry.ts';

const MAX_SUFFIX = 1000;

/** A folder that removed entries are moved to instead of being deleted. It may lie inside the root or outside. */
export interface RecycleBin {
  /** Whether an entry goes to the bin; what is in it already, the bin itself, and probes of ours, are deleted. @throws for a folder that holds the bin */
  takes(folder: string, name: string): boolean;
  /**
   * Moves an entry there; a name that is taken gets `_YYYYMMDDhhmmss` behind it. A folder that is gone is made again.
   * @throws AppError UNSUPPORTED_OPERATION: it is on another file system | FAILED_PRECONDITION: it is no folder, or gone again
   */
  take(place: string, name: string): void;
}

/** Makes the folder when it is missing. @throws errors of the system */
export function openRecycleBin(configuredPath: string): RecycleBin {
  fs.mkdirSync(configuredPath, { recursive: true });
  const binPath = fs.realpathSync.native(configuredPath);
  return {
    takes(folder, name) {
      const entry = path.join(folder, name);
      if (binPath.startsWith(`${entry}/`)) throw new AppError('FAILED_PRECONDITION', 'the recycle bin is in this folder');
      return entry !== binPath && !entry.startsWith(`${binPath}/`) && !isProbeName(name);
    },
    take(place, name) {
      makeAgain(binPath);
      for (const candidate of candidates(name, new Date())) {
        try {
          moveInto(place, path.join(binPath, candidate));
          return;
        } catch (error) {
          if (systemCodeOf(error) === 'EXDEV')
            throw new AppError('UNSUPPORTED_OPERATION', 'the recycle bin is on another file system', { cause: error });
          // Of the bin it must not be taken for the entry, which would count as removed.
          if (isAbsence(error) && fs.lstatSync(place, { throwIfNoEntry: false })) throw unusable(error);
          if (systemCodeOf(error) !== 'EEXIST' && !AppError.is(error, 'ENTRY_EXISTS')) throw error;
        }
      }
      throw new AppError('ENTRY_EXISTS', 'the recycle bin has too many entries of this name');
    },
  };
}

function makeAgain(binPath: string): void {
  try {
    fs.mkdirSync(binPath, { recursive: true });
  } catch (error) {
    throw isAbsence(error) || systemCodeOf(error) === 'EEXIST' ? unusable(error) : error;
  }
}

const unusable = (cause: unknown) => new AppError('FAILED_PRECONDITION', 'the recycle bin is gone, or no folder', { cause });

function moveInto(place: string, target: string): void {
  if (fs.lstatSync(place).isDirectory()) placeFolderExclusively(place, target);
  else placeExclusively(place, target);
}

function* candidates(name: string, now: Date): Generator<string> {
  yield name;
  const stamp = `_${timestamp(now)}`;
  yield shortened(name, stamp);
  for (let index = 2; index < MAX_SUFFIX; index++) yield shortened(name, `${stamp}_${index}`);
}

/** Local time, as people read it. */
function timestamp(now: Date): string {
  const parts = [now.getMonth() + 1, now.getDate(), now.getHours(), now.getMinutes(), now.getSeconds()];
  return now.getFullYear() + parts.map((part) => String(part).padStart(2, '0')).join('');
}

/** A long name gives way to its suffix: 255 bytes are all there is. */
export function shortened(name: string, suffix: string): string {
  let kept = name;
  while (Buffer.byteLength(kept + suffix) > 255) kept = [...kept].slice(0, -1).join('');
  return kept + suffix;
}
