import { MOUNT_ROOT, type MountPath, ROOT_NAME } from '@wharf/paths';
import { untilClosed } from './calls.ts';
import { decorated, operationsOf, operationsOfDraft } from './complete-driver.ts';
import { requireListedAbove } from './require-listed.ts';
import type { CallOptions, Draft, Entry, StorageDriver } from './storage-driver.ts';
import { isNotThere, isRootAway, isSaidOfPart, rootIsGone, storageError, throwIfAborted } from './storage-error.ts';

/**
 * Told which paths of the driver below a call may have changed, when it has ended, however. @param isAnother whether what was there went away: what is
 * there next is something else
 */
export type OnChanged = (paths: readonly MountPath[], isAnother: boolean) => void;

/**
 * A folder of another driver as a driver of its own, with that folder as its root. Closing it ends its writes, and leaves the other one open.
 *
 * @param standsOnOthers whether the other one has no server and no disk of its own
 */
export function inFolder(driver: StorageDriver, folder: MountPath, onChanged: OnChanged, standsOnOthers = false): StorageDriver {
  const {
    write,
    makeDirectory,
    remove,
    beginRemoval,
    rename,
    copy,
    link,
    space,
    thumbnail,
    findOnHost,
    openDraft,
    listNames,
    statMany,
    listAll,
    readMany,
    writeMany,
  } = operationsOf(driver);
  const closing = new AbortController();
  const at = (path: MountPath): MountPath => {
    throwIfAborted(closing.signal);
    if (folder === MOUNT_ROOT) return path;
    return path === MOUNT_ROOT ? folder : ((folder + path) as MountPath);
  };
  const named = (path: MountPath, entry: Entry): Entry => (path === MOUNT_ROOT ? { ...entry, name: ROOT_NAME } : entry);
  const changing = telling(at, onChanged);
  return decorated({
    traits: driver.traits,
    async stat(path, options) {
      const found = driver.stat(at(path), options);
      const orWhyNot = (error: unknown) => whyMissing({ driver, folder, standsOnOthers }, error, options);
      return named(path, await (path === MOUNT_ROOT ? found.catch(orWhyNot) : found));
    },
    async *list(directory, options) {
      yield* driver.list(at(directory), options);
    },
    read: async (file, range, options) => driver.read(at(file), range, options),
    close: async () => {
      closing.abort(storageError('STORAGE_UNAVAILABLE'));
    },
    write:
      write && (async (file, content, options) => changing([file], () => write(at(file), content, untilClosed(options, closing.signal)))),
    makeDirectory: makeDirectory && (async (path, options) => named(path, await changing([path], () => makeDirectory(at(path), options)))),
    remove: remove && (async (path, options) => changing([path], () => remove(at(notRoot(path)), options), true)),
    beginRemoval:
      beginRemoval &&
      (async (paths, options) =>
        changing(paths, () =>
          beginRemoval(
            paths.map((path) => at(notRoot(path))),
            options,
          ),
        )),
    rename: rename && (async (from, to, options) => changing([from, to], () => rename(at(notRoot(from)), at(to), options), true)),
    copy: copy && (async (from, to, options) => changing([to], () => copy(at(notRoot(from)), at(to), options))),
    link: link && (async (file, options) => link(at(file), options)),
    space,
    thumbnail: thumbnail && (async (file, options) => thumbnail(at(file), options)),
    findOnHost: findOnHost && (async (file, options) => findOnHost(at(file), options)),
    openDraft:
      openDraft &&
      (async (file, id, options) => {
        const draft = await openDraft(at(file), id, options);
        return tellingDraft(draft, (publish) => changing([file], publish));
      }),
    listNames: listNames && (async (directory, known, options) => listNames(at(directory), known, options)),
    statMany: statMany && (async (directory, names, options) => statMany(at(directory), names, options)),
    listAll:
      listAll &&
      async function* (directory, options) {
        const cut = folder === MOUNT_ROOT ? 0 : folder.length;
        for await (const { path, entry } of listAll(at(directory), options)) yield { path: path.slice(cut) as MountPath, entry };
      },
    readMany: readMany && (async (files, options) => readMany(files.map(at), options)),
    writeMany:
      writeMany &&
      (async (files, options) =>
        changing(
          files.map(({ file }) => file),
          () =>
            writeMany(
              files.map((each) => ({ ...each, file: at(each.file) })),
              untilClosed(options ?? {}, closing.signal),
            ),
        )),
  });
}

/** A folder that is not there says nothing while the storage of its driver is away. @throws STORAGE_UNAVAILABLE then, else what it is given */
async function whyMissing(
  { driver, folder, standsOnOthers }: { driver: StorageDriver; folder: MountPath; standsOnOthers: boolean },
  error: unknown,
  options: CallOptions | undefined,
): Promise<never> {
  if (!isNotThere(error)) throw error;
  await driver.stat(MOUNT_ROOT, options).catch((missing: unknown) => {
    if (!isNotThere(missing)) throw missing;
    if (isRootAway(missing, standsOnOthers)) throw rootIsGone(missing);
  });
  if (folder !== MOUNT_ROOT && isSaidOfPart(error)) await requireListedAbove(driver, folder, options);
  throw error;
}

/** Does something, and tells of it. @param takesAway whether what was there is gone then */
function telling(at: (path: MountPath) => MountPath, onChanged: OnChanged) {
  return async <Result>(paths: readonly MountPath[], run: () => Promise<Result>, takesAway = false): Promise<Result> => {
    const changed = paths.map(at);
    let isDone = false;
    try {
      const result = await run();
      isDone = true;
      return result;
    } finally {
      onChanged(changed, takesAway && isDone);
    }
  };
}

/** @throws AppError INVALID_ARGUMENT: in the other driver it may be a folder like any */
function notRoot(path: MountPath): MountPath {
  if (path === MOUNT_ROOT) throw storageError('INVALID_ARGUMENT');
  return path;
}

function tellingDraft(draft: Draft, changing: (publish: () => Promise<Entry>) => Promise<Entry>): Draft {
  return { ...operationsOfDraft(draft), publish: (options) => changing(() => draft.publish(options)) };
}
