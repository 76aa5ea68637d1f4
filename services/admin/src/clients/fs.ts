import { AppError } from '@wharf/errors';
import { outgoingCall, type ServiceKit } from '@wharf/service-kit';
import type { DriverForm } from '../domain/driver-form.ts';
import type { FolderDriver } from '../domain/first-storage.ts';

/** What fs answers after it started a storage, or tried to. */
export interface StartOutcome {
  /** `work`, `disabled`, empty when the storage is gone, or why it could not be started. */
  readonly status: string;
  /** The driver's settings as it wants them kept; empty: unknown. */
  readonly addition: string;
}

export interface FsClient {
  /** All drivers by name, each with what it takes; undefined while fs cannot be reached. */
  drivers(): Promise<ReadonlyMap<string, DriverForm> | undefined>;
  /**
   * The driver that shows folders of this machine.
   * @throws AppError STORAGE_UNAVAILABLE: fs cannot be reached, or knows no such driver
   */
  folderDriver(): Promise<FolderDriver>;
  /** Whether an index job is under way; false while fs cannot be asked. */
  isIndexing(): Promise<boolean>;
  /**
   * Lets fs start, restart or drop a storage as it is configured at `revision`. What goes wrong is in the outcome, also when fs cannot be
   * reached or takes longer than START_LIMIT_MS.
   */
  reloadStorage(id: number, revision: number): Promise<StartOutcome>;
}

/** How long a storage may take to start, in milliseconds: less than the deadline of the call that waits for it. */
const START_LIMIT_MS = 20_000;

export function createFsClient({ name, peers, tokens, ownCall, logger }: Omit<ServiceKit, 'store' | 'bus'>): FsClient {
  return {
    async drivers() {
      try {
        const { drivers } = await peers.fs.listDrivers({}, ownCall());
        return new Map(
          drivers.map(({ config, additional, secret_items }) => {
            const items = additional.map(({ name: item, required, default: standard, options, type }) => ({
              ...{ name: item, isRequired: required, standard },
              options: type === 'select' ? options.split(',') : [],
            }));
            return [config?.name ?? '', { items, secretItems: new Set(secret_items) }];
          }),
        );
      } catch (error) {
        if (AppError.means(error, 'absent')) return undefined;
        throw error;
      }
    },
    async folderDriver() {
      const { drivers } = await peers.fs.listDrivers({}, ownCall());
      for (const { config, common, additional, host_folder_items } of drivers) {
        const [folderItem] = host_folder_items;
        if (config && folderItem !== undefined) return { name: config.name, folderItem, common, additional };
      }
      throw new AppError('STORAGE_UNAVAILABLE', 'the file service knows no driver that shows folders of this machine');
    },
    async isIndexing() {
      try {
        return (await peers.fs.getIndexProgress({}, ownCall())).is_running;
      } catch (error) {
        // Where no index is chosen there is none that runs.
        if (AppError.is(error)) return false;
        throw error;
      }
    },
    async reloadStorage(id, revision) {
      const signal = AbortSignal.timeout(START_LIMIT_MS);
      const call = {
        identity: { kind: 'service', name } as const,
        requestId: `${name}-own`,
        revisions: { auth: 0, admin: revision },
        signal,
      };
      try {
        return await Promise.race([peers.fs.reloadStorage({ id }, outgoingCall(tokens, call)), rejectWhenAborted(signal)]);
      } catch (error) {
        logger.warn({ err: error, storageId: id }, 'fs did not start a storage');
        if (signal.aborted) return { status: `the storage did not start within ${START_LIMIT_MS / 1000} s`, addition: '' };
        return { status: AppError.from(error).message, addition: '' };
      }
    },
  };
}

function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}
