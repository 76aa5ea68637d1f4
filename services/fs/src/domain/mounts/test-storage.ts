import { randomBytes, randomUUID } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { unlessAborted } from '@wharf/pace';
import { childPath, MOUNT_ROOT, type MountPath, parseEntryName } from '@wharf/paths';
import { operationsOf } from '../../driver-contract/complete-driver.ts';
import type { DriverDefinition } from '../../driver-contract/define-driver.ts';
import { type DriverTraits, type FileContent, type StorageDriver, supports } from '../../driver-contract/storage-driver.ts';
import { throwIfAborted } from '../../driver-contract/storage-error.ts';
import { Watchdog } from '../../driver-contract/watchdog.ts';
import { openStorage, type Surroundings, statusOf } from './open-storage.ts';

/** One thing that was tried. */
export interface TestStep {
  readonly name: 'open' | 'list' | 'write' | 'stat' | 'read' | 'link' | 'copy' | 'rename' | 'remove';
  /** Empty: it worked. */
  readonly error: string;
  readonly elapsedMs: number;
}

/** The outcome of a test. */
export interface StorageTest {
  /** In order. A step that the storage has no operation for is left out. */
  readonly steps: readonly TestStep[];
  /** Undefined when the storage could not be opened. */
  readonly traits: DriverTraits | undefined;
  /** The names of the methods that the driver has. */
  readonly operations: readonly string[];
  /** How far the storage's clock is ahead. Undefined when that is not known, and for a storage that keeps the times it is given. */
  readonly clockSkewMs: number | undefined;
  /** The names of temporary files at the root that could not be removed. */
  readonly leftBehind: readonly string[];
}

export interface TestOptions {
  /** True: the test also writes a temporary file at the root. */
  readonly writes: boolean;
  readonly clock: () => number;
  /** Receives failures that are no AppErrors, and failures of closing. */
  readonly onError: (error: unknown) => void;
  readonly limits?: { readonly testMs: number; readonly cleanUpMs: number };
}

/** In milliseconds. Together they are half a minute. */
const LIMITS = { testMs: 24_000, cleanUpMs: 6_000 } as const;
/** A listing is read up to this entry. */
const MAX_ENTRIES = 1_000;
const FILE_BYTES = 4_096;
const RANGE = { offsetBytes: 1_000, lengthBytes: 2_000 } as const;

/**
 * Opens a storage beside the mounts, tries its operations, and closes it. A step that fails is part of the answer. Temporary files are
 * removed also when the time is over or the signal of `context` aborts.
 *
 * @param addition undefined when the stored settings cannot be read
 * @throws AppError CANCELLED when the signal is aborted already
 */
export async function testStorage(
  definition: DriverDefinition,
  addition: string | undefined,
  context: Surroundings,
  { writes, clock, onError, limits = LIMITS }: TestOptions,
): Promise<StorageTest> {
  const watchdog = new Watchdog(context.signal);
  watchdog.arm(limits.testMs);
  const { signal } = watchdog;
  const steps: TestStep[] = [];
  const take: TakeStep = async (name, run, isTold = () => true) => {
    if (signal.aborted && name !== 'remove') return undefined;
    const began = performance.now();
    const step = (error: string) => void (isTold() && steps.push({ name, error, elapsedMs: performance.now() - began }));
    try {
      const result = await run();
      step('');
      return result;
    } catch (error) {
      if (!AppError.is(error)) onError(error);
      step(statusOf(error, { definition, addition }));
      return undefined;
    }
  };
  try {
    const driver = await take('open', () => openStorage(definition, addition, { ...context, signal }));
    if (!driver) return { ...UNTOUCHED, steps, traits: undefined, operations: [] };
    try {
      const isListed = await take('list', () => lookAtRoot(driver, signal));
      const came = isListed && writes ? await tryFile(driver, { take, signal, clock, cleanUpMs: limits.cleanUpMs }) : UNTOUCHED;
      return { ...came, steps, traits: driver.traits, operations: methodsOf(driver) };
    } finally {
      driver.close().catch(onError);
    }
  } finally {
    watchdog.dispose();
  }
}

const UNTOUCHED = { clockSkewMs: undefined, leftBehind: [] } as const;

function methodsOf(driver: StorageDriver): string[] {
  const { close: _close, ...operations } = operationsOf(driver);
  return Object.entries(operations).flatMap(([name, operation]) => (typeof operation === 'function' ? [name] : []));
}

/**
 * Runs a step, notes its outcome, and answers its result, or undefined when it failed. When the time is over only the removal still runs.
 * @param isTold asked afterwards; false: the step is not noted
 */
type TakeStep = <Result>(name: TestStep['name'], run: () => Promise<Result>, isTold?: () => boolean) => Promise<Result | undefined>;

async function lookAtRoot(driver: StorageDriver, signal: AbortSignal): Promise<true> {
  let seen = 0;
  for await (const _entry of driver.list(MOUNT_ROOT, { signal })) {
    seen += 1;
    if (seen === MAX_ENTRIES) break;
  }
  return true;
}

interface FileTrial {
  readonly take: TakeStep;
  readonly signal: AbortSignal;
  readonly clock: () => number;
  readonly cleanUpMs: number;
}

/** Writes a file, tries the operations on it, and removes it. Nothing is written to a storage that has no `remove`. */
async function tryFile(
  driver: StorageDriver,
  { take, signal, clock, cleanUpMs }: FileTrial,
): Promise<Pick<StorageTest, 'clockSkewMs' | 'leftBehind'>> {
  if (!supports(driver, 'write') || !supports(driver, 'remove')) return UNTOUCHED;
  const content = randomBytes(FILE_BYTES);
  const [file, copied, renamed] = temporaryPaths();
  const made = new Set([file]);
  const began = clock();
  const written = await take('write', () =>
    driver.write(file, once(content), {
      signal,
      overwrite: false,
      sizeBytes: FILE_BYTES,
      // A write that was given up must not make its file later.
      beforePublish: async () => throwIfAborted(signal),
    }),
  );
  const ended = clock();
  if (written) {
    await take('stat', async () => {
      const { isDirectory, sizeBytes } = await driver.stat(file, { signal });
      if (isDirectory || sizeBytes !== FILE_BYTES) throw new AppError('CONTENT_CORRUPT', `a file of ${FILE_BYTES} bytes shows as another`);
    });
    await take('read', async () => requireRange(await driver.read(file, RANGE, { signal }), content));
    if (supports(driver, 'link')) await take('link', () => driver.link(file, { signal }));
    let last = file;
    if (supports(driver, 'copy')) {
      made.add(copied);
      if (await take('copy', () => driver.copy(file, copied, { signal, overwrite: false }))) last = copied;
    }
    if (supports(driver, 'rename')) {
      made.add(renamed);
      if (await take('rename', () => driver.rename(last, renamed, { signal, overwrite: false }))) made.delete(last);
    }
  }
  const leftBehind: string[] = [];
  const isTold = () => written !== undefined || leftBehind.length > 0;
  await take('remove', () => removeAll(driver, made, leftBehind, cleanUpMs), isTold);
  return { clockSkewMs: written && skewOf(driver.traits, written.modifiedAt, began, ended), leftBehind };
}

/** Three paths that nobody else uses. */
function temporaryPaths(): [file: MountPath, copied: MountPath, renamed: MountPath] {
  const stem = `wharf-test-${randomUUID()}`;
  const path = (rest: string) => childPath(MOUNT_ROOT, parseEntryName(`${stem}${rest}.tmp`));
  return [path(''), path('-copy'), path('-renamed')];
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield content;
}

/** @throws AppError CONTENT_CORRUPT */
async function requireRange(found: FileContent, content: Buffer): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of found) chunks.push(Buffer.from(chunk));
  const expected = content.subarray(RANGE.offsetBytes, RANGE.offsetBytes + RANGE.lengthBytes);
  if (!Buffer.concat(chunks).equals(expected)) throw new AppError('CONTENT_CORRUPT', 'other bytes came back than were written');
}

/** Has a limit of its own, as the time of the test may be over. @param leftBehind receives the names of files that stay. @throws why the first one stays */
async function removeAll(
  driver: StorageDriver & Required<Pick<StorageDriver, 'remove'>>,
  paths: Iterable<MountPath>,
  leftBehind: string[],
  limitMs: number,
): Promise<void> {
  const watchdog = new Watchdog(undefined);
  watchdog.arm(limitMs);
  let failure: unknown;
  for (const path of paths) {
    try {
      // Whoever is to have removed it by then may wait for the outcome for longer.
      await unlessAborted(watchdog.signal, driver.remove(path, { signal: watchdog.signal, recursive: false }));
    } catch (error) {
      if (AppError.is(error, 'ENTRY_NOT_FOUND')) continue;
      leftBehind.push(path.slice(MOUNT_ROOT.length));
      failure ??= error;
    }
  }
  watchdog.dispose();
  if (failure !== undefined) throw failure;
}

/** The storage took its time between `began` and `ended`. A time between them is right. */
function skewOf({ modTimeStepMs }: DriverTraits, modifiedAt: Date, began: number, ended: number): number | undefined {
  if (modTimeStepMs !== undefined) return undefined;
  const time = modifiedAt.getTime();
  return Math.round(time - Math.min(Math.max(time, began), ended));
}
