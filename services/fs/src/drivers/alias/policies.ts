import { AppError } from '@wharf/errors';
import type { Entry, HashName } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import type { ChangePolicy } from './config.ts';

/**
 * Which of the folders that may take a change take it.
 *
 * @param candidates in the order of the lines, one at least. @param shown how many folders are shown as this one
 * @throws AppError FAILED_PRECONDITION: the policy leaves such entries alone | STORAGE_READ_ONLY
 */
export function chooseAmong<Candidate>(policy: ChangePolicy, candidates: readonly Candidate[], shown: number): readonly Candidate[] {
  const isEverywhere = candidates.length === shown;
  switch (policy) {
    case 'disabled':
      throw storageError('STORAGE_READ_ONLY');
    case 'all':
      return candidates;
    case 'all_strict':
      return isEverywhere ? candidates : refuse('not every folder has it');
    case 'deterministic_or_all':
      return candidates.length === 1 || isEverywhere ? candidates : refuse('some of the folders have it, not one and not all');
    case 'deterministic':
      return candidates.length === 1 ? candidates : refuse('several folders have it');
    default:
      return candidates.slice(0, 1);
  }
}

function refuse(reason: string): never {
  throw new AppError('FAILED_PRECONDITION', `the policy of the alias leaves this alone: ${reason}`);
}

const HASHES: readonly HashName[] = ['sha256', 'sha1', 'md5'];

/** Whether two files may be read one for the other. @param byHash files without a hash that both have are not the same */
export function isSameContent(one: Entry, other: Entry, byHash: boolean): boolean {
  if (one.isDirectory || other.isDirectory || one.sizeBytes === undefined || one.sizeBytes !== other.sizeBytes) return false;
  const common = HASHES.filter((name) => one.hashes?.[name] !== undefined && other.hashes?.[name] !== undefined);
  if (common.length === 0) return !byHash;
  return common.every((name) => one.hashes?.[name] === other.hashes?.[name]);
}

/** The same items from another beginning on. */
export function turned<Item>(items: readonly Item[], by: number): Item[] {
  const at = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}
