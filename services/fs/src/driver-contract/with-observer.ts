import { AppError } from '@wharf/errors';
import { decorated, operationsOf } from './complete-driver.ts';
import { type Leave, readUntilLeft } from './lane.ts';
import type { Draft, Entry, FileContent, RemoveOptions, StorageDriver, WholeWrite, WriteOptions } from './storage-driver.ts';

/** Is told of the calls of one storage. */
export interface CallObserver {
  /** Before each call. @returns its number, greater than those before it. @throws what the caller is to get instead of an answer */
  begin(): number;
  /** Something of the storage is in use until it is left: during a call, a listing, while a file is read and while a draft is open. */
  enter(): Leave;
  /** @param elapsedMs until the first answer; undefined for calls that take as long as their content, and for one that goes on */
  succeeded(elapsedMs: number | undefined): void;
  failed(error: unknown, call: number): void;
}

/** Tells `observer` of every call, and of every stream that breaks in the middle. */
export function withObserver(driver: StorageDriver, observer: CallObserver): StorageDriver {
  const operations = operationsOf(driver);
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
  } = operations;
  const timed = <Result>(run: (call: number) => Promise<Result>) => observed(observer, true, run);
  const untimed = <Result>(run: () => Promise<Result>) => observed(observer, false, run);
  /** A change, and what it asks of its caller on its way. */
  const changing = <Options extends Questions | undefined, Result>(
    isTimed: boolean,
    options: Options,
    run: (options: Options) => Promise<Result>,
  ) => {
    const asking = notedQuestions(options);
    return observed(observer, isTimed, () => run(asking.options), asking.isOwnFailure);
  };
  return decorated({
    traits: operations.traits,
    stat: (path, options) => timed(() => driver.stat(path, options)),
    list: (directory, options) => observedList(observer, () => driver.list(directory, options)),
    read: (file, range, options) =>
      readUntilLeft(
        observer.enter(),
        () => timed(async (call) => watchedContent(await driver.read(file, range, options), observer, call)),
        options,
      ),
    close: operations.close,
    write: write && ((file, content, options) => observedWrite(observer, content, options, (...noted) => write(file, ...noted))),
    makeDirectory: makeDirectory && ((path, options) => changing(true, options, (asking) => makeDirectory(path, asking))),
    remove: remove && ((path, options) => changing(false, options, (asking) => remove(path, asking))),
    beginRemoval: beginRemoval && ((paths, options) => changing(false, options, (asking) => beginRemoval(paths, asking))),
    rename: rename && ((from, to, options) => changing(true, options, (asking) => rename(from, to, asking))),
    copy: copy && ((from, to, options) => changing(false, options, (asking) => copy(from, to, asking))),
    link: link && ((file, options) => timed(() => link(file, options))),
    space: space && ((options) => timed(() => space(options))),
    // Pictures may come from another host: one that fails says nothing of the storage, and the file is read in its place.
    thumbnail:
      thumbnail &&
      ((file, options) =>
        observed(
          observer,
          true,
          () => thumbnail(file, options),
          () => true,
        )),
    findOnHost: findOnHost && ((file, options) => timed(() => findOnHost(file, options))),
    openDraft: openDraft && ((file, id, options) => openObservedDraft(observer, () => timed(() => openDraft(file, id, options)))),
    listNames: listNames && ((directory, known, options) => timed(() => listNames(directory, known, options))),
    statMany: statMany && ((directory, names, options) => timed(() => statMany(directory, names, options))),
    listAll: listAll && ((directory, options) => observedList(observer, () => listAll(directory, options))),
    readMany: readMany && ((files, options) => untimed(() => readMany(files, options))),
    writeMany: writeMany && ((files, options) => observedWriteMany(observer, files, (noted) => writeMany(noted, options))),
  });
}

async function openObservedDraft(observer: CallObserver, open: () => Promise<Draft>): Promise<Draft> {
  const leave = observer.enter();
  try {
    return observedDraft(await open(), observer, leave);
  } catch (error) {
    leave();
    throw error;
  }
}

function observedDraft(draft: Draft, observer: CallObserver, leave: Leave): Draft {
  const untimed = <Result>(run: () => Promise<Result>) => observed(observer, false, run);
  return {
    partBytes: draft.partBytes,
    write: (offsetBytes, content, options: Publishing = {}) =>
      observedWrite(observer, content, options, (...noted) => draft.write(offsetBytes, ...noted)),
    sync: () => untimed(() => draft.sync()),
    sizeBytes: () => untimed(() => draft.sizeBytes()),
    read: (options) => draft.read(options),
    publish: (options) => observedWrite(observer, NOTHING, options, (_, noted) => draft.publish(noted)),
    discard: () => untimed(() => draft.discard()),
    close: () => draft.close().finally(leave),
  };
}

const NOTHING: AsyncIterable<Uint8Array> = { async *[Symbol.asyncIterator]() {} };

type Publishing = Pick<WriteOptions, 'signal' | 'afterWaiting' | 'beforePublish' | 'whileAllowed'>;

/** A call whose source and whose question before publishing may fail without the storage being to blame. */
function observedWrite<Options extends Publishing, Result>(
  observer: CallObserver,
  content: AsyncIterable<Uint8Array>,
  options: Options,
  run: (content: AsyncIterable<Uint8Array>, options: Options) => Promise<Result>,
): Promise<Result> {
  const source = noted(content, options);
  return observed(observer, false, () => run(source.content, source.options), source.isOwnFailure);
}

/** What failed of one file is the storage's failure where it says so of itself. */
async function observedWriteMany(
  observer: CallObserver,
  files: readonly WholeWrite[],
  run: (files: readonly WholeWrite[]) => Promise<readonly (Entry | AppError)[]>,
): Promise<readonly (Entry | AppError)[]> {
  const call = observer.begin();
  const leave = observer.enter();
  const refusals = new Set<unknown>();
  const noting = (ask: WholeWrite['mayPublishUntil']) => () =>
    ask().catch((error: unknown) => {
      refusals.add(error);
      throw error;
    });
  try {
    const results = await run(files.map((each) => ({ ...each, mayPublishUntil: noting(each.mayPublishUntil) })));
    const absent = results.find((result) => AppError.means(result, 'absent') && !refusals.has(result));
    if (absent) observer.failed(absent, call);
    else observer.succeeded(undefined);
    return results;
  } catch (error) {
    observer.failed(error, call);
    throw error;
  } finally {
    leave();
  }
}

async function observed<Result>(
  observer: CallObserver,
  isTimed: boolean,
  run: (call: number) => Promise<Result>,
  isForeign: (error: unknown) => boolean = () => false,
): Promise<Result> {
  const call = observer.begin();
  const leave = observer.enter();
  const startedAt = isTimed ? performance.now() : 0;
  try {
    const result = await run(call);
    observer.succeeded(isTimed ? performance.now() - startedAt : undefined);
    return result;
  } catch (error) {
    if (!isForeign(error)) observer.failed(error, call);
    throw error;
  } finally {
    leave();
  }
}

async function* observedList<Item>(observer: CallObserver, list: () => AsyncIterable<Item>): AsyncGenerator<Item, void> {
  const call = observer.begin();
  const leave = observer.enter();
  const startedAt = performance.now();
  let isTold = false;
  const tell = () => {
    if (!isTold) observer.succeeded(performance.now() - startedAt);
    isTold = true;
  };
  try {
    for await (const item of list()) {
      tell();
      yield item;
    }
    tell();
  } catch (error) {
    observer.failed(error, call);
    throw error;
  } finally {
    leave();
  }
}

function watchedContent(content: FileContent, observer: CallObserver, call: number): FileContent {
  if (content.whole !== undefined) return content;
  return {
    entry: content.entry,
    [Symbol.asyncIterator]() {
      const iterator = content[Symbol.asyncIterator]();
      const { return: end } = iterator;
      return {
        next() {
          const step = iterator.next();
          step.catch((error: unknown) => observer.failed(error, call));
          return step;
        },
        ...(end && { return: (value) => end.call(iterator, value) }),
      };
    },
  };
}

interface Noted<Options> {
  readonly content: AsyncIterable<Uint8Array>;
  readonly options: Options;
  readonly isOwnFailure: (error: unknown) => boolean;
}

/** Failures for which a storage is not to blame: of one that goes by several others each may have asked. */
function createOwnFailures() {
  const failures = new Set<unknown>();
  return {
    note(error: unknown): never {
      failures.add(error);
      throw error;
    },
    isOwnFailure: (error: unknown) => failures.has(error),
  };
}

type Questions = Pick<RemoveOptions, 'afterWaiting' | 'beforeStep'>;

/** What a change asks, as for the rights of now: the store that knows them may be away, and the storage works. */
function notedQuestions<Options extends Questions | undefined>(options: Options): Pick<Noted<Options>, 'options' | 'isOwnFailure'> {
  const { note, isOwnFailure } = createOwnFailures();
  const { afterWaiting, beforeStep } = options ?? {};
  const asking = {
    ...options,
    ...(afterWaiting && { afterWaiting: () => afterWaiting().catch(note) }),
    ...(beforeStep && { beforeStep: (removed: number) => beforeStep(removed).catch(note) }),
  };
  return { options: asking as Options, isOwnFailure };
}

/** The content of a write and what it asks, and whether an error is their own: the storage is not to blame for that. */
function noted<Options extends Publishing>(content: AsyncIterable<Uint8Array>, options: Options): Noted<Options> {
  const { note, isOwnFailure } = createOwnFailures();
  const pass = async function* (passed: AsyncIterable<Uint8Array>) {
    try {
      yield* passed;
    } catch (error) {
      note(error);
    }
  };
  const { afterWaiting, beforePublish, whileAllowed } = options;
  const asking = {
    ...options,
    ...(afterWaiting && { afterWaiting: () => afterWaiting().catch(note) }),
    ...(beforePublish && { beforePublish: () => beforePublish().catch(note) }),
    ...(whileAllowed && { whileAllowed: (taken: AsyncIterable<Uint8Array>, sizeBytes: number) => pass(whileAllowed(taken, sizeBytes)) }),
  };
  return { content: pass(content), options: asking, isOwnFailure };
}
