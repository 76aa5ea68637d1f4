import type { StorageDriver } from './storage-driver.ts';

/** The same storage without the operations that change it: they are absent, so nobody has to ask twice. Closing it closes the storage. */
export function withReadOnly(driver: StorageDriver): StorageDriver {
  const { link, space, listNames, statMany } = driver;
  return {
    traits: driver.traits,
    stat: (path, options) => driver.stat(path, options),
    list: (directory, options) => driver.list(directory, options),
    read: (file, range, options) => driver.read(file, range, options),
    close: () => driver.close(),
    ...(link && { link: link.bind(driver) }),
    ...(space && { space: space.bind(driver) }),
    ...(listNames && { listNames: listNames.bind(driver) }),
    ...(statMany && { statMany: statMany.bind(driver) }),
  };
}
