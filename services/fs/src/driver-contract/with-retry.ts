import { randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { decorated, operationsOf } from './complete-driver.ts';
import type { CallOptions, StorageDriver } from './storage-driver.ts';
import { abortError } from './storage-error.ts';

/** Pauses before the second and the third try, in milliseconds; each is drawn between half of it and the whole, so that many do not come at once. */
const PAUSES_MS: readonly number[] = [50, 200];
/** The longest pause that a storage may ask for, in milliseconds; with a longer one its answer stands. */
const MAX_ASKED_MS = 10_000;

/**
 * Asks a storage again after a failure that means `glitch`: only what reads, and only as long as nothing was handed out. A storage may say how
 * long to wait (`details.retryAfterMs`). A call that took all its time is not repeated, and nothing that changes the storage is.
 */
export function withRetry(driver: StorageDriver, pausesMs = PAUSES_MS): StorageDriver {
  const operations = operationsOf(driver);
  const { link, space, thumbnail, findOnHost, listNames, statMany, listAll, readMany } = operations;
  const retried = <Result>(options: CallOptions | undefined, run: () => Promise<Result>) => withRetries(pausesMs, options, run);
  return decorated({
    ...operations,
    stat: (path, options) => retried(options, () => driver.stat(path, options)),
    list: (directory, options) => listWithRetries(pausesMs, options, () => driver.list(directory, options)),
    read: (file, range, options) => retried(options, () => driver.read(file, range, options)),
    link: link && ((file, options) => retried(options, () => link(file, options))),
    space: space && ((options) => retried(options, () => space(options))),
    thumbnail: thumbnail && ((file, options) => retried(options, () => thumbnail(file, options))),
    findOnHost: findOnHost && ((file, options) => retried(options, () => findOnHost(file, options))),
    listNames: listNames && ((directory, known, options) => retried(options, () => listNames(directory, known, options))),
    statMany: statMany && ((directory, names, options) => retried(options, () => statMany(directory, names, options))),
    listAll: listAll && ((directory, options) => listWithRetries(pausesMs, options, () => listAll(directory, options))),
    readMany: readMany && ((files, options) => retried(options, () => readMany(files, options))),
  });
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

async function* listWithRetries<Item>(
  pausesMs: readonly number[],
  options: CallOptions | undefined,
  run: () => AsyncIterable<Item>,
): AsyncGenerator<Item, void> {
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
export async function pauseAfter(error: unknown, pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
  if (!AppError.means(error, 'glitch')) throw error;
  const asked = error.details.retryAfterMs;
  if (typeof asked === 'number' && asked > MAX_ASKED_MS) throw error;
  try {
    await wait(typeof asked === 'number' ? asked : randomInt(Math.ceil(pauseMs / 2), pauseMs + 1), undefined, signal && { signal });
  } catch (cause) {
    throw signal?.aborted ? abortError(signal) : cause;
  }
}
