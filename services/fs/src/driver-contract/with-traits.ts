import { decorated, operationsOf } from './complete-driver.ts';
import { requireKeepable } from './declared-names.ts';
import { spool } from './spool.ts';
import type { StorageDriver } from './storage-driver.ts';
import { unlessRefused } from './unless-refused.ts';

/**
 * Holds what is made to the traits that a storage declares: names and paths that it keeps, and the size that it must be told beforehand.
 *
 * @param spoolFolder as in SpoolOptions
 */
export function withTraits(driver: StorageDriver, spoolFolder?: string): StorageDriver {
  const operations = operationsOf(driver);
  const { traits } = driver;
  const { write, makeDirectory, rename, copy, openDraft, writeMany } = operations;
  return decorated({
    ...operations,
    write:
      write &&
      (async (file, content, options) => {
        requireKeepable(traits, file);
        if (!traits.needsSize || options.sizeBytes !== undefined) return write(file, content, options);
        const spooled = await spool(content, { signal: options.signal, caller: options.caller, folder: spoolFolder });
        try {
          const allowed = options.whileAllowed?.(spooled.content, spooled.sizeBytes) ?? spooled.content;
          return await write(file, allowed, { ...options, sizeBytes: spooled.sizeBytes });
        } finally {
          await spooled.end();
        }
      }),
    makeDirectory:
      makeDirectory &&
      (async (path, options) => {
        requireKeepable(traits, path);
        return makeDirectory(path, options);
      }),
    rename:
      rename &&
      (async (from, to, options) => {
        if (from !== to) requireKeepable(traits, to);
        return rename(from, to, options);
      }),
    copy:
      copy &&
      (async (from, to, options) => {
        requireKeepable(traits, to);
        return copy(from, to, options);
      }),
    openDraft:
      openDraft &&
      (async (file, id, options) => {
        if (options.create) requireKeepable(traits, file);
        return openDraft(file, id, options);
      }),
    writeMany:
      writeMany &&
      ((files, options) =>
        unlessRefused(
          files,
          ({ file }) => requireKeepable(traits, file),
          (kept) => writeMany(kept, options),
        )),
  });
}
