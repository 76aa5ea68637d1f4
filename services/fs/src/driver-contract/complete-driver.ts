import type { Draft, OptionalOperation, StorageDriver } from './storage-driver.ts';

/** Every operation of a driver by name, undefined where it has none: who writes one down cannot forget an operation, or the compiler tells. */
export type CompleteDriver = { readonly [Operation in keyof Required<StorageDriver>]: StorageDriver[Operation] | undefined };

/** The operations of a driver, with its methods bound: what is taken from it works alone. */
export function operationsOf(driver: StorageDriver): CompleteDriver {
  return {
    traits: driver.traits,
    stat: driver.stat.bind(driver),
    list: driver.list.bind(driver),
    read: driver.read.bind(driver),
    close: driver.close.bind(driver),
    write: driver.write?.bind(driver),
    makeDirectory: driver.makeDirectory?.bind(driver),
    remove: driver.remove?.bind(driver),
    beginRemoval: driver.beginRemoval?.bind(driver),
    rename: driver.rename?.bind(driver),
    copy: driver.copy?.bind(driver),
    link: driver.link?.bind(driver),
    space: driver.space?.bind(driver),
    thumbnail: driver.thumbnail?.bind(driver),
    findOnHost: driver.findOnHost?.bind(driver),
    openDraft: driver.openDraft?.bind(driver),
    listNames: driver.listNames?.bind(driver),
    statMany: driver.statMany?.bind(driver),
    listAll: driver.listAll?.bind(driver),
    readMany: driver.readMany?.bind(driver),
    writeMany: driver.writeMany?.bind(driver),
  };
}

/** The same of a draft. */
export function operationsOfDraft(draft: Draft): Draft {
  return {
    partBytes: draft.partBytes,
    write: draft.write.bind(draft),
    sync: draft.sync.bind(draft),
    sizeBytes: draft.sizeBytes.bind(draft),
    read: draft.read.bind(draft),
    publish: draft.publish.bind(draft),
    discard: draft.discard.bind(draft),
    close: draft.close.bind(draft),
  };
}

/** What a decorator makes of the operations of a driver; those that the driver has not are not there. */
export function decorated(operations: CompleteDriver): StorageDriver {
  const there = Object.entries(operations).filter(([, operation]) => operation !== undefined);
  return Object.fromEntries(there) as object as StorageDriver;
}

/** By name, in their order. @internal for tests */
export const OPTIONAL_OPERATIONS = Object.keys({
  beginRemoval: true,
  copy: true,
  findOnHost: true,
  link: true,
  listAll: true,
  listNames: true,
  makeDirectory: true,
  openDraft: true,
  readMany: true,
  remove: true,
  rename: true,
  space: true,
  statMany: true,
  thumbnail: true,
  write: true,
  writeMany: true,
} satisfies Record<OptionalOperation, true>) as OptionalOperation[];
