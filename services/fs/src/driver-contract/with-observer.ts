import type { CallOptions, FileContent, StorageDriver, WriteOptions } from './storage-driver.ts';

/** Is told of the calls of one storage. */
export interface CallObserver {
  /** Before each call. @throws what the caller is to get instead of an answer */
  begin(): void;
  /** @param elapsedMs until the first answer; undefined for calls that take as long as their content, and for one that goes on */
  succeeded(elapsedMs: number | undefined): void;
  failed(error: unknown): void;
}

/** Tells `observer` of every call, and of every stream that breaks in the middle. */
export function withObserver(driver: StorageDriver, observer: CallObserver): StorageDriver {
  const { write, makeDirectory, remove, rename, copy, link, space, openDraft, listNames, statMany } = driver;
  const timed = <Result>(run: () => Promise<Result>) => observed(observer, true, run);
  const untimed = <Result>(run: () => Promise<Result>) => observed(observer, false, run);
  return {
    traits: driver.traits,
    stat: (path, options) => timed(() => driver.stat(path, options)),
    list: (directory, options) => observedList(observer, driver, directory, options),
    read: async (file, range, options) => watchedContent(await timed(() => driver.read(file, range, options)), observer),
    close: () => driver.close(),
    ...(write && {
      write: (file, content, options) => {
        const source = noted(content, options);
        return observed(observer, false, () => write.call(driver, file, source.content, source.options), source.isOwnFailure);
      },
    }),
    ...(makeDirectory && { makeDirectory: (path, options) => timed(() => makeDirectory.call(driver, path, options)) }),
    ...(remove && { remove: (path, options) => untimed(() => remove.call(driver, path, options)) }),
    ...(rename && { rename: (from, to, options) => timed(() => rename.call(driver, from, to, options)) }),
    ...(copy && { copy: (from, to, options) => untimed(() => copy.call(driver, from, to, options)) }),
    ...(link && { link: (file, options) => timed(() => link.call(driver, file, options)) }),
    ...(space && { space: (options) => timed(() => space.call(driver, options)) }),
    ...(openDraft && { openDraft: (file, id, options) => timed(() => openDraft.call(driver, file, id, options)) }),
    ...(listNames && { listNames: (directory, known, options) => timed(() => listNames.call(driver, directory, known, options)) }),
    ...(statMany && { statMany: (directory, names, options) => timed(() => statMany.call(driver, directory, names, options)) }),
  };
}

async function observed<Result>(
  observer: CallObserver,
  isTimed: boolean,
  run: () => Promise<Result>,
  isForeign: (error: unknown) => boolean = () => false,
): Promise<Result> {
  observer.begin();
  const startedAt = isTimed ? performance.now() : 0;
  try {
    const result = await run();
    observer.succeeded(isTimed ? performance.now() - startedAt : undefined);
    return result;
  } catch (error) {
    if (!isForeign(error)) observer.failed(error);
    throw error;
  }
}

async function* observedList(
  observer: CallObserver,
  driver: StorageDriver,
  directory: Parameters<StorageDriver['list']>[0],
  options: CallOptions | undefined,
) {
  observer.begin();
  const startedAt = performance.now();
  let isTold = false;
  const tell = () => {
    if (!isTold) observer.succeeded(performance.now() - startedAt);
    isTold = true;
  };
  try {
    for await (const entry of driver.list(directory, options)) {
      tell();
      yield entry;
    }
    tell();
  } catch (error) {
    observer.failed(error);
    throw error;
  }
}

function watchedContent(content: FileContent, observer: CallObserver): FileContent {
  if (content.whole !== undefined) return content;
  return {
    entry: content.entry,
    [Symbol.asyncIterator]() {
      const iterator = content[Symbol.asyncIterator]();
      const { return: end } = iterator;
      return {
        next() {
          const step = iterator.next();
          step.catch((error: unknown) => observer.failed(error));
          return step;
        },
        ...(end && { return: (value) => end.call(iterator, value) }),
      };
    },
  };
}

interface Noted {
  readonly content: AsyncIterable<Uint8Array>;
  readonly options: WriteOptions;
  readonly isOwnFailure: (error: unknown) => boolean;
}

/** The content of a write and what it asks, and whether an error is their own: the storage is not to blame for that. */
function noted(content: AsyncIterable<Uint8Array>, options: WriteOptions): Noted {
  let failure: unknown;
  const note = (error: unknown) => {
    failure = error;
    throw error;
  };
  const pass = async function* () {
    try {
      yield* content;
    } catch (error) {
      note(error);
    }
  };
  const { beforePublish } = options;
  return {
    content: pass(),
    options: beforePublish ? { ...options, beforePublish: () => beforePublish().catch(note) } : options,
    isOwnFailure: (error) => error === failure,
  };
}
