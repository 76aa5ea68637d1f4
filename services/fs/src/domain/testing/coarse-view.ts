import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import type { Entry, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { requireUnchanged } from '../../driver-contract/unchanged.ts';

/**
 * A driver as a server shows it that tells and keeps times on a grid, and no times of creation.
 *
 * @param stepMs undefined: it does not say what its grid is, and tells whole seconds
 */
export function coarseView(driver: StorageDriver, stepMs: number | undefined): StorageDriver {
  const gridMs = stepMs ?? 1_000;
  const rounded = (date: Date) => new Date(Math.floor(date.getTime() / gridMs) * gridMs);
  const shown = ({ createdAt: _, ...entry }: Entry): Entry => ({ ...entry, modifiedAt: rounded(entry.modifiedAt) });
  const operations = operationsOf(driver);
  const { write, remove } = operations;
  return decorated({
    ...operations,
    traits: { ...driver.traits, modTimeStepMs: stepMs },
    stat: async (path, options) => shown(await driver.stat(path, options)),
    async *list(path, options) {
      for await (const entry of driver.list(path, options)) yield shown(entry);
    },
    async read(path, range, options) {
      const content = await driver.read(path, range, options);
      return { entry: shown(content.entry), [Symbol.asyncIterator]: () => content[Symbol.asyncIterator]() };
    },
    write:
      write &&
      (async (path, content, options) => {
        const { modifiedAt = new Date() } = options;
        return shown(await write(path, content, { ...options, modifiedAt: rounded(modifiedAt) }));
      }),
    remove:
      remove &&
      (async (path, { onlyIf, ...options }) => {
        const stored = await driver.stat(path);
        requireUnchanged(onlyIf, shown(stored));
        await remove(path, { ...options, onlyIf: onlyIf && stored });
      }),
    close: async () => {},
    rename: undefined,
    copy: undefined,
    openDraft: undefined,
    listNames: undefined,
    statMany: undefined,
  });
}
