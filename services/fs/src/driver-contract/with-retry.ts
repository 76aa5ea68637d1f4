import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import type { CallOptions, Entry, StorageDriver } from './storage-driver.ts';
import { abortError } from './storage-error.ts';

/** Pauses before the second and the third try, in milliseconds. */
const PAUSES_MS: readonly number[] = [50, 200];

/**
 * Asks a storage again after a failure that means `glitch`: only what reads, and only as long as nothing was handed out. A
 * call that took all its time is not repeated, and nothing that changes the storage is.
 */
export function withRetry(driver: StorageDriver, pausesMs = PAUSES_MS): StorageDriver {
  const { link, space, listNames, statMany } = driver;
  const retried = <Result>(options: CallOptions | undefined, run: () => Promise<Result>) => withRetries(pausesMs, options, run);
  return {
    // Methods of a class are not its own properties: each is named.
    ...changingOperations(driver),
    traits: driver.traits,
    stat: (path, options) => retried(options, () => driver.stat(path, options)),
    list: (directory, options) => listWithRetries(pausesMs, options, () => driver.list(directory, options)),
    read: (file, range, options) => retried(options, () => driver.read(file, range, options)),
    close: () => driver.close(),
    ...(link && { link: (file, options) => retried(options, () => link.call(driver, file, options)) }),
    ...(space && { space: (options) => retried(options, () => space.call(driver, options)) }),
    ...(listNames && {
      listNames: (directory, known, options) => retried(options, () => listNames.call(driver, directory, known, options)),
    }),
    ...(statMany && {
      statMany: (directory, names, options) => retried(options, () => statMany.call(driver, directory, names, options)),
    }),
  };
}

function changingOperations(driver: StorageDriver): Partial<StorageDriver> {
  const { write, makeDirectory, remove, rename, copy, openDraft } = driver;
  return {
    ...(write && { write: write.bind(driver) }),
    ...(makeDirectory && { makeDirectory: makeDirectory.bind(driver) }),
    ...(remove && { remove: remove.bind(driver) }),
    ...(rename && { rename: rename.bind(driver) }),
    ...(copy && { copy: copy.bind(driver) }),
    ...(openDraft && { openDraft: openDraft.bind(driver) }),
  };
}

async function withRetries<Result>(
  pausesMs: readonly number[],
  options: CallOptions | undefined,
  run: () => Promise<Result>,
): Promise<Result> {
  for (const pauseMs of pausesMs) {
    try {
      return await run();
    } catch (error) {
      await pauseAfter(error, pauseMs, options?.signal);
    }
  }
  return run();
}

async function* listWithRetries(
  pausesMs: readonly number[],
  options: CallOptions | undefined,
  run: () => AsyncIterable<Entry>,
): AsyncGenerator<Entry, void> {
  for (const pauseMs of [...pausesMs, undefined]) {
    let isBegun = false;
    try {
      for await (const entry of run()) {
        isBegun = true;
        yield entry;
      }
      return;
    } catch (error) {
      if (isBegun || pauseMs === undefined) throw error;
      await pauseAfter(error, pauseMs, options?.signal);
    }
  }
}

/** @throws the error when another try would not help, or what the signal says */
async function pauseAfter(error: unknown, pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
  if (!AppError.means(error, 'glitch')) throw error;
  try {
    await wait(pauseMs, undefined, signal && { signal });
  } catch (cause) {
    throw signal?.aborted ? abortError(signal) : cause;
  }
}
