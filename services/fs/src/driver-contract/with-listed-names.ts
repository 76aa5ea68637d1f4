import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import { type MountPath, parentPath } from '@wharf/paths';
import { type CompleteDriver, decorated, operationsOf, operationsOfDraft } from './complete-driver.ts';
import { hasDoubtfulName } from './doubtful-names.ts';
import { ListedNames } from './listed-names.ts';
import type { CallOptions, StorageDriver, WriteOptions } from './storage-driver.ts';

/** Whether a name is free is asked once more after so long, in milliseconds. */
const LATE_MS = 2_000;

/**
 * A driver in which an entry with a doubtful name is there only if its folder lists it: servers find by such names what has another one, or what no folder lists,
 * for which no rule was made. Nor is anything made under one by which something is there.
 */
export function withListedNames(driver: StorageDriver): StorageDriver {
  if (driver.traits.findsExactNames) return driver;
  const names = new ListedNames(driver);
  const operations = operationsOf(driver);
  const { write, makeDirectory, remove, rename, copy, link, thumbnail, findOnHost, openDraft, listNames, statMany, listAll } = operations;
  const { there, making, placing, askingAgain } = checksOf(names);
  return decorated({
    ...operations,
    stat: (path, options) => names.stat(path, options),
    async *list(directory, options) {
      await names.require(directory, options);
      yield* driver.list(directory, options);
    },
    read: there(operations.read, (_range, options) => options),
    link: there(link, (options) => options),
    thumbnail: there(thumbnail, (options) => options),
    findOnHost: there(findOnHost, (options) => options),
    listNames: there(listNames, (_known, options) => options),
    listAll:
      listAll &&
      async function* (directory, options) {
        await names.require(directory, options);
        yield* listAll(directory, options);
      },
    // Of names that were listed.
    statMany: there(statMany, (_names, options) => options),
    remove:
      remove &&
      (async (path, options) => {
        // What has begun has lost its name.
        if (options.begun === undefined) await names.requireToGo(path, options);
        try {
          await remove(path, options);
        } catch (error) {
          // Of what fails otherwise it is not known whether it was done.
          if (!AppError.is(error, 'DIRECTORY_NOT_EMPTY')) names.gone(path);
          throw error;
        }
        names.gone(path);
      }),
    rename: placing(rename, (from) => names.gone(from)),
    copy: placing(copy, () => undefined),
    write: write && ((file, content, options) => making(file, options, () => write(file, content, askingAgain(file, options)))),
    makeDirectory: makeDirectory && ((path, options) => making(path, options, () => makeDirectory(path, options))),
    openDraft:
      openDraft &&
      (async (file, id, options) => {
        await names.requireFree(file, options);
        const draft = operationsOfDraft(await openDraft(file, id, options));
        const lookedAtMs = performance.now();
        return { ...draft, publish: (published) => draft.publish(askingAgain(file, published, lookedAtMs)) };
      }),
    ...severalOf(operations, names),
  });
}

/** What is looked at before a call goes on. */
function checksOf(names: ListedNames) {
  /** Of what is to be there. */
  const there = <Rest extends readonly unknown[], Result>(
    run: ((path: MountPath, ...rest: Rest) => Promise<Result>) | undefined,
    optionsOf: (...rest: Rest) => CallOptions | undefined,
  ) =>
    run &&
    (async (path: MountPath, ...rest: Rest): Promise<Result> => {
      await names.require(path, optionsOf(...rest));
      return run(path, ...rest);
    });
  const making = async <Result>(path: MountPath, options: CallOptions | undefined, make: () => Promise<Result>): Promise<Result> => {
    await names.requireFree(path, options);
    const result = await make();
    names.made(path);
    return result;
  };
  const placing = <Options extends CallOptions, Result>(
    run: ((from: MountPath, to: MountPath, options: Options) => Promise<Result>) | undefined,
    onPlaced: (from: MountPath) => void,
  ) =>
    run &&
    (async (from: MountPath, to: MountPath, options: Options): Promise<Result> => {
      await names.require(from, options);
      if (from === to) return run(from, to, options);
      return making(to, options, () => run(from, to, options).finally(() => onPlaced(from)));
    });
  /** A content may come for hours, and something else may have got the name meanwhile. */
  const askingAgain = <Options extends Pick<WriteOptions, 'signal' | 'beforePublish'>>(
    file: MountPath,
    options: Options,
    lookedAtMs = performance.now(),
  ): Options => {
    if (!hasDoubtfulName(file)) return options;
    const beforePublish = async () => {
      if (performance.now() - lookedAtMs >= LATE_MS) await names.requireFree(file, options);
      await options.beforePublish?.();
    };
    return { ...options, beforePublish };
  };
  return { there, making, placing, askingAgain };
}

/** Calls of which each says what became of several. */
type Several = Pick<CompleteDriver, 'beginRemoval' | 'readMany' | 'writeMany'>;

function severalOf({ beginRemoval, readMany, writeMany }: Several, names: ListedNames): Several {
  return {
    beginRemoval:
      beginRemoval &&
      (async (paths, options) => {
        await names.expect(paths, options);
        return among(paths, options, {
          placeOf: (path) => path,
          check: (path, above) => names.requireToGo(path, options, above),
          refused: (error) => error,
          run: (some) =>
            beginRemoval(some, options).finally(() => {
              for (const path of some) names.gone(path);
            }),
        });
      }),
    readMany:
      readMany &&
      ((files, options) =>
        among(files, options, {
          placeOf: (file) => file,
          check: (file, above) => names.require(file, options, above),
          refused: () => undefined,
          run: (some) => readMany(some, options),
        })),
    writeMany:
      writeMany &&
      ((files, options) =>
        among(files, options, {
          placeOf: ({ file }) => file,
          check: ({ file }, above) => names.requireFree(file, options, above),
          refused: (error) => error,
          run: (some) => writeMany(some, options),
        })),
  };
}

interface Call<Item, Answer> {
  readonly placeOf: (item: Item) => MountPath;
  /** @param above the folder of the last one that was not refused */
  readonly check: (item: Item, above: MountPath | undefined) => Promise<void>;
  readonly refused: (error: AppError) => Answer;
  readonly run: (items: readonly Item[]) => Promise<readonly Answer[]>;
}

/** Does what is not refused, in one call. @returns in the order of all of them what became of each */
async function among<Item, Answer>(
  items: readonly Item[],
  options: CallOptions | undefined,
  { placeOf, check, refused, run }: Call<Item, Answer>,
): Promise<Answer[]> {
  const refusals = new Map<Item, AppError>();
  // There may be ten thousand, of which none has to be looked at.
  const pace = createPace(options?.signal);
  let above: MountPath | undefined;
  for (const item of items) {
    await pace.step();
    try {
      await check(item, above);
      above = parentPath(placeOf(item));
    } catch (error) {
      refusals.set(item, AppError.from(error));
    }
  }
  const allowed = items.filter((item) => !refusals.has(item));
  const answers = allowed.length === 0 ? [] : await run(allowed);
  let next = 0;
  return items.map((item) => {
    const refusal = refusals.get(item);
    return refusal ? refused(refusal) : (answers[next++] as Answer);
  });
}
