import { AppError } from '@wharf/errors';
import type { CallOptions } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import type { Place, RcloneClient } from './client.ts';

/** The empty file that keeps a folder where folders are nothing but names. The driver S3 has the same one. */
export const PLACEHOLDER = '.wharf';

/** Folders of stores of objects, which have none. */
export class BucketFolders {
  readonly #client: RcloneClient;

  constructor(client: RcloneClient) {
    this.#client = client;
  }

  /** Looks whether the bucket of a place is there. @throws AppError FAILED_PRECONDITION, for the admin */
  async openRoot(root: Place, call: CallOptions): Promise<void> {
    const [bucket = ''] = root.split('/');
    if (bucket === '') throw new AppError('FAILED_PRECONDITION', 'root_folder_path must begin with the name of a bucket');
    try {
      for await (const _ of this.#client.list(bucket, call)) break;
    } catch (error) {
      if (AppError.is(error, 'ENTRY_NOT_FOUND')) throw new AppError('FAILED_PRECONDITION', `bucket ${bucket} not exists`, { cause: error });
      throw error;
    }
  }

  async makeFolder(place: Place, call: CallOptions): Promise<void> {
    await this.#client.write(`${place}/${PLACEHOLDER}`, nothing(), call);
  }

  /** A folder whose last entry was removed stays. */
  async keep(place: Place, call: CallOptions): Promise<void> {
    if (await this.#isEmpty(place, call)) await this.makeFolder(place, call);
  }

  /** @throws AppError DIRECTORY_NOT_EMPTY */
  async removeEmpty(place: Place, call: CallOptions): Promise<void> {
    if (!(await this.#isEmpty(place, call, PLACEHOLDER))) throw storageError('DIRECTORY_NOT_EMPTY');
    await this.#client.removeFile(`${place}/${PLACEHOLDER}`, call).catch((error: unknown) => {
      if (!AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
    });
  }

  async #isEmpty(place: Place, call: CallOptions, but?: string): Promise<boolean> {
    try {
      for await (const { name } of this.#client.list(place, call)) if (name !== but) return false;
    } catch (error) {
      if (!AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
    }
    return true;
  }
}

async function* nothing(): AsyncGenerator<Uint8Array, void> {}
