import { decorated, operationsOf } from './complete-driver.ts';
import type { Draft, FileContent, StorageDriver } from './storage-driver.ts';

/** Records the calls of one storage, for traces. */
export interface CallSpans {
  call<Result>(operation: string, run: () => Promise<Result>): Promise<Result>;
  stream<Item>(operation: string, start: () => AsyncIterable<Item>): AsyncIterable<Item>;
}

/** Records every call of a driver. A file that is read counts until it is open: its bytes come as their receiver takes them. */
export function withSpans(driver: StorageDriver, spans: CallSpans): StorageDriver {
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
    ...own
  } = operationsOf(driver);
  return decorated({
    traits: own.traits,
    stat: (path, options) => spans.call('stat', () => driver.stat(path, options)),
    list: (directory, options) => spans.stream('list', () => driver.list(directory, options)),
    read: (file, range, options): Promise<FileContent> => spans.call('read', () => driver.read(file, range, options)),
    close: own.close,
    write: write && ((file, content, options) => spans.call('write', () => write(file, content, options))),
    makeDirectory: makeDirectory && ((path, options) => spans.call('makeDirectory', () => makeDirectory(path, options))),
    remove: remove && ((path, options) => spans.call('remove', () => remove(path, options))),
    beginRemoval: beginRemoval && ((paths, options) => spans.call('beginRemoval', () => beginRemoval(paths, options))),
    rename: rename && ((from, to, options) => spans.call('rename', () => rename(from, to, options))),
    copy: copy && ((from, to, options) => spans.call('copy', () => copy(from, to, options))),
    link: link && ((file, options) => spans.call('link', () => link(file, options))),
    space: space && ((options) => spans.call('space', () => space(options))),
    thumbnail: thumbnail && ((file, options) => spans.call('thumbnail', () => thumbnail(file, options))),
    findOnHost: findOnHost && ((file, options) => spans.call('findOnHost', () => findOnHost(file, options))),
    openDraft:
      openDraft &&
      (async (file, id, options) =>
        recordedDraft(await spans.call(options.create ? 'openDraft' : 'resumeDraft', () => openDraft(file, id, options)), spans)),
    listNames: listNames && ((directory, known, options) => spans.call('listNames', () => listNames(directory, known, options))),
    statMany: statMany && ((directory, names, options) => spans.call('statMany', () => statMany(directory, names, options))),
    listAll: listAll && ((directory, options) => spans.stream('listAll', () => listAll(directory, options))),
    readMany: readMany && ((files, options) => spans.call('readMany', () => readMany(files, options))),
    writeMany: writeMany && ((files, options) => spans.call('writeMany', () => writeMany(files, options))),
  });
}

function recordedDraft(draft: Draft, spans: CallSpans): Draft {
  return {
    partBytes: draft.partBytes,
    write: (offsetBytes, content, options) => spans.call('writeRange', () => draft.write(offsetBytes, content, options)),
    sync: () => spans.call('sync', () => draft.sync()),
    sizeBytes: () => draft.sizeBytes(),
    read: (options) => draft.read(options),
    publish: (options) => spans.call('publish', () => draft.publish(options)),
    discard: () => spans.call('discard', () => draft.discard()),
    close: () => draft.close(),
  };
}
