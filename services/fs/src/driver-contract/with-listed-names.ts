import { AppError } from '@wharf/errors';
import { childPath, type EntryName, MOUNT_ROOT, type MountPath, pathSegments } from '@wharf/paths';
import { decorated, operationsOf } from './complete-driver.ts';
import { hasDoubtfulName, isDoubtfulName } from './doubtful-names.ts';
import { KeptNames } from './folding.ts';
import type { CallOptions, StorageDriver } from './storage-driver.ts';
import { isNotThere, storageError } from './storage-error.ts';

/** So long, in milliseconds, a name that was listed counts as listed. */
const LISTED_MS = 5_000;

/**
 * A driver in which an entry with a doubtful name is there only if its folder lists it: servers find by such names what has another one, or what no folder lists,
 * for which no rule was made. Nor is anything made under one by which something is there. In a store of objects a name is what it is stored under.
 */
export function withListedNames(driver: StorageDriver): StorageDriver {
  if (!driver.traits.keepsEmptyDirectories) return driver;
  const { require, requireFree, listed } = createListedNames(driver);
  const operations = operationsOf(driver);
  const { write, makeDirectory, remove, beginRemoval, rename, copy, link, thumbnail, findOnHost } = operations;
  const { openDraft, listNames, statMany, listAll, readMany, writeMany } = operations;
  /** @param check for what is to be there; else for what is made */
  const at = <Rest extends readonly unknown[], Result>(
    run: ((path: MountPath, ...rest: Rest) => Promise<Result>) | undefined,
    optionsOf: (...rest: Rest) => CallOptions | undefined,
    check = require,
  ) =>
    run &&
    (async (path: MountPath, ...rest: Rest): Promise<Result> => {
      await check(path, optionsOf(...rest));
      return run(path, ...rest);
    });
  const place = <Options extends CallOptions, Result>(
    run: ((from: MountPath, to: MountPath, options: Options) => Promise<Result>) | undefined,
  ) =>
    run &&
    (async (from: MountPath, to: MountPath, options: Options): Promise<Result> => {
      await require(from, options);
      if (from !== to) await requireFree(to, options);
      return run(from, to, options);
    });
  return decorated({
    ...operations,
    stat: at(operations.stat, (options) => options),
    async *list(directory, options) {
      await require(directory, options);
      yield* driver.list(directory, options);
    },
    read: at(operations.read, (_range, options) => options),
    remove: at(remove, (options) => options),
    link: at(link, (options) => options),
    thumbnail: at(thumbnail, (options) => options),
    findOnHost: at(findOnHost, (options) => options),
    listNames: at(listNames, (_known, options) => options),
    listAll:
      listAll &&
      async function* (directory, options) {
        await require(directory, options);
        yield* listAll(directory, options);
      },
    statMany:
      statMany &&
      (async (directory, names, options) => {
        await require(directory, options);
        return statMany(directory, await listed(directory, names, options), options);
      }),
    rename: place(rename),
    copy: place(copy),
    write: at(write, (_content, options) => options, requireFree),
    makeDirectory: at(makeDirectory, (options) => options, requireFree),
    openDraft: at(openDraft, (_id, options) => options, requireFree),
    beginRemoval:
      beginRemoval &&
      ((paths, options) =>
        among(
          paths,
          (path) => require(path, options),
          (error) => error,
          (some) => beginRemoval(some, options),
        )),
    readMany:
      readMany &&
      ((files, options) =>
        among(
          files,
          (file) => require(file, options),
          () => undefined,
          (some) => readMany(some, options),
        )),
    writeMany:
      writeMany &&
      ((files, options) =>
        among(
          files,
          ({ file }) => requireFree(file, options),
          (error) => error,
          (some) => writeMany(some, options),
        )),
  });
}

/** Does what is not refused, in one call. @returns in the order of all of them what became of each */
async function among<Item, Answer>(
  items: readonly Item[],
  check: (item: Item) => Promise<void>,
  refused: (error: AppError) => Answer,
  run: (items: readonly Item[]) => Promise<readonly Answer[]>,
): Promise<Answer[]> {
  const refusals = new Map<Item, AppError>();
  for (const item of items) await check(item).catch((error: unknown) => void refusals.set(item, AppError.from(error)));
  const answers = await run(items.filter((item) => !refusals.has(item)));
  let next = 0;
  return items.map((item) => {
    const refusal = refusals.get(item);
    return refusal ? refused(refusal) : (answers[next++] as Answer);
  });
}

/** What folders list of doubtful names. */
function createListedNames(driver: StorageDriver) {
  const kept = new KeptNames();
  const versionOf = (folder: MountPath) => `${Math.floor(performance.now() / LISTED_MS)} ${folder}`;
  const isListed = async (folder: MountPath, names: readonly string[], options: CallOptions | undefined): Promise<Set<string>> => {
    if (kept.hasAll(versionOf(folder), names)) return new Set(names);
    const found = new Set<string>();
    for await (const { name } of driver.list(folder, { signal: options?.signal, seesAll: true })) if (isDoubtfulName(name)) found.add(name);
    kept.keep(versionOf(folder), found, 0);
    return found;
  };
  /** The first place on a path with a doubtful name that its folder does not list. */
  const firstUnlisted = async (path: MountPath, options: CallOptions | undefined): Promise<MountPath | undefined> => {
    let folder: MountPath = MOUNT_ROOT;
    for (const name of pathSegments(path)) {
      const place: MountPath = childPath(folder, name);
      if (isDoubtfulName(name) && !(await isListed(folder, [name], options)).has(name)) return place;
      folder = place;
    }
    return undefined;
  };
  /** By whatever way: some servers look up what they list for one of them. */
  const isThere = async (place: MountPath, { signal }: CallOptions = {}): Promise<boolean> => {
    const looks = [() => driver.stat(place, { signal }), () => begun(driver.list(place, { signal }))];
    for (const look of looks) {
      const isFound = await look().then(
        () => true,
        (error: unknown) => {
          if (AppError.is(error, 'ENTRY_NOT_FOUND')) return false;
          if (AppError.is(error, 'NOT_A_DIRECTORY')) return true;
          throw error;
        },
      );
      if (isFound) return true;
    }
    return false;
  };
  return {
    /** @throws AppError ENTRY_NOT_FOUND, and what listing a folder throws */
    async require(path: MountPath, options: CallOptions | undefined): Promise<void> {
      if (hasDoubtfulName(path) && (await firstUnlisted(path, options)) !== undefined) throw storageError('ENTRY_NOT_FOUND');
    },
    /** For what is made, with its folders. @throws AppError ENTRY_EXISTS: something is there by that name that is not listed; what listing a folder throws */
    async requireFree(path: MountPath, options: CallOptions | undefined): Promise<void> {
      if (!hasDoubtfulName(path)) return;
      try {
        const unlisted = await firstUnlisted(path, options);
        if (unlisted !== undefined && (await isThere(unlisted, options))) throw storageError('ENTRY_EXISTS');
      } catch (error) {
        // A folder on the way is not there yet, or is none: who makes something in it is told.
        if (!isNotThere(error)) throw error;
      }
    },
    /** Those of the names that are not doubtful, or listed. */
    async listed(folder: MountPath, names: readonly EntryName[], options: CallOptions | undefined): Promise<readonly EntryName[]> {
      const doubtful = names.filter(isDoubtfulName);
      if (doubtful.length === 0) return names;
      const found = await isListed(folder, doubtful, options);
      return names.filter((name) => !isDoubtfulName(name) || found.has(name));
    },
  };
}

async function begun(entries: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of entries) return;
}
