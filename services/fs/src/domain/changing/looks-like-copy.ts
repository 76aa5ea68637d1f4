import type { Entry, HashName, StorageDriver } from '../../driver-contract/storage-driver.ts';

const HASH_NAMES: readonly HashName[] = ['sha256', 'sha1', 'md5'];

/** Whether a size that both files tell differs. */
export function hasOtherSize(source: Pick<Entry, 'sizeBytes'>, target: Pick<Entry, 'sizeBytes'>): boolean {
  return source.sizeBytes !== undefined && target.sizeBytes !== undefined && source.sizeBytes !== target.sizeBytes;
}

/** Whether a target is a whole copy of a source, as far as what both storages say of them tells; undefined: it does not tell. */
export function looksLikeCopy(source: Entry, target: Entry, driver: StorageDriver): boolean | undefined {
  if (!mayBeCopy(source, target)) return false;
  if (provesCopy(source, target)) return true;
  const stepMs = driver.traits.modTimeStepMs;
  if (stepMs === undefined || source.sizeBytes === undefined || target.sizeBytes === undefined) return undefined;
  return Math.abs(target.modifiedAt.getTime() - source.modifiedAt.getTime()) <= Math.max(1, stepMs);
}

/** Whether a digest that both storages tell proves that a file is a whole copy. */
export function provesCopy(source: Entry, target: Entry): boolean {
  return mayBeCopy(source, target) && hashPairs(source, target).length > 0;
}

/** Whether nothing but its date speaks against a file's being a whole copy: a storage need not keep the date of each, and somebody may have touched it. */
export function mayBeCopy(source: Entry, target: Entry): boolean {
  return !target.isDirectory && !source.isDirectory && !hasOtherSize(source, target) && !hasOtherHash(source, target);
}

/** Whether a digest that both files tell differs. */
export function hasOtherHash(source: Entry, target: Entry): boolean {
  return hashPairs(source, target).some(([here, there]) => here !== there);
}

/** The digests that both files tell, in lower case. */
function hashPairs(source: Entry, target: Entry): [string, string][] {
  return HASH_NAMES.flatMap((name) => {
    const [here, there] = [source.hashes?.[name], target.hashes?.[name]];
    return here === undefined || there === undefined ? [] : [[here.toLowerCase(), there.toLowerCase()] as [string, string]];
  });
}
