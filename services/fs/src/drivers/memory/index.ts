import { z } from 'zod';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import { selectItem } from '../../driver-contract/config-items.ts';
import { defineDriver } from '../../driver-contract/define-driver.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { largeThumbnail, storageError } from '../../driver-contract/storage-error.ts';
import { walkTree } from '../../driver-contract/walk-tree.ts';
import { MemoryDriver, type MemoryProfile } from './driver.ts';
import { withMany } from './with-many.ts';

const PROFILES = {
  'object store': { hasObjects: true, timeStepMs: 'own' },
  'no rename': {},
  'case folding': { foldsCase: true },
  'times of two seconds': { timeStepMs: 2_000 },
  'unknown sizes': { hidesSizes: true },
  'known hashes': { tellsHashes: true },
  picky: { isPicky: true },
  'own thumbnails': { hasThumbnails: true },
  'several at once': {},
} as const satisfies Record<string, MemoryProfile>;

/** Storages that can do less than memory could. @internal for tests */
export const MEMORY_PROFILES = Object.keys(PROFILES) as (keyof typeof PROFILES)[];

export const memoryDriver = defineDriver({
  name: 'Memory',
  label: 'Memory',
  internal: true,
  config: { local_sort: true, only_proxy: true, no_cache: true },
  configSchema: z.object({ profile: selectItem(MEMORY_PROFILES) }),
  open: async ({ profile }) => {
    if (profile === '') return new MemoryDriver();
    const driver = new MemoryDriver(PROFILES[profile]);
    if (profile === 'object store') return withTree(withoutSteps(driver));
    if (profile === 'own thumbnails') return withThumbnails(driver);
    if (profile === 'several at once') return withMany(driver);
    return profile === 'no rename' ? withoutSteps(driver) : driver;
  },
});

/** Neither renames nor names under a version. */
function withoutSteps(driver: StorageDriver): StorageDriver {
  return decorated({ ...operationsOf(driver), rename: undefined, listNames: undefined, statMany: undefined });
}

/** Tells whole trees. */
function withTree(driver: StorageDriver): StorageDriver {
  return decorated({ ...operationsOf(driver), listAll: (directory, options) => walkTree(driver, directory, options) });
}

/** Its small picture of a picture is the picture itself. */
function withThumbnails(driver: StorageDriver): StorageDriver {
  return decorated({
    ...operationsOf(driver),
    async thumbnail(file, { maxBytes, signal }) {
      const content = await driver.read(file, undefined, { signal });
      if (!content.entry.hasThumbnail) throw storageError('UNSUPPORTED_OPERATION');
      const image = Buffer.concat(await Array.fromAsync(content));
      if (image.byteLength > maxBytes) throw largeThumbnail();
      return { entry: content.entry, image };
    },
  });
}
