import { AppError } from '@wharf/errors';
import type { Entry, OptionalOperation, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';

/** One folder of the tree that is shown. One that does not work is asked for again whenever it is needed. */
export class Place {
  /** In the tree, as the form has it: no other folder of the same name has it. */
  readonly path: string;
  readonly #open: () => Promise<StorageDriver>;
  #opening: Promise<StorageDriver> | undefined;
  #known: StorageDriver | undefined;
  #isClosed = false;

  constructor(path: string, open: () => Promise<StorageDriver>) {
    this.path = path;
    this.#open = open;
  }

  /** As far as it was opened. */
  get known(): StorageDriver | undefined {
    return this.#known;
  }

  /** @throws what opening it says */
  async driver(): Promise<StorageDriver> {
    if (this.#isClosed) throw storageError('STORAGE_UNAVAILABLE');
    this.#opening ??= this.#open();
    const opening = this.#opening;
    try {
      this.#known = await opening;
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
    if (this.#isClosed) {
      await this.#known.close();
      throw storageError('STORAGE_UNAVAILABLE');
    }
    return this.#known;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#known?.close();
  }
}

/** An entry and the folder it was found in. */
export interface Found {
  readonly place: Place;
  readonly driver: StorageDriver;
  readonly entry: Entry;
}

/** @throws AppError STORAGE_READ_ONLY: this folder takes no such changes */
export function operationOf<Operation extends OptionalOperation>(
  driver: StorageDriver,
  operation: Operation,
): NonNullable<StorageDriver[Operation]> {
  const method = driver[operation];
  if (method === undefined) throw storageError('STORAGE_READ_ONLY');
  return method.bind(driver) as NonNullable<StorageDriver[Operation]>;
}

/** The folder does not answer; another one may. */
export function isPassedOver(error: unknown): boolean {
  return (['STORAGE_UNAVAILABLE', 'STORAGE_LOGIN_FAILED', 'DEADLINE_EXCEEDED', 'OVERLOADED'] as const).some((code) =>
    AppError.is(error, code),
  );
}
