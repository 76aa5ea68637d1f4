import type { StorageRecord } from '@wharf/models';
import { type MountPath, readCachePolicies } from '@wharf/paths';
import { createPathMatch } from './path-pattern.ts';

/**
 * How many minutes listings of a folder are kept, 0: not at all. As the first pattern says that fits the folder's path within its storage, else as the
 * whole storage. They are read each time, so nothing of them is kept.
 */
export function cacheMinutes({ custom_cache_policies, cache_expiration }: CacheItems, folder: MountPath): number {
  if (custom_cache_policies === '') return cache_expiration;
  const fits = createPathMatch(folder);
  return readCachePolicies(custom_cache_policies).policies.find(({ pattern }) => fits(pattern))?.minutes ?? cache_expiration;
}

type CacheItems = Pick<StorageRecord, 'custom_cache_policies' | 'cache_expiration'>;
