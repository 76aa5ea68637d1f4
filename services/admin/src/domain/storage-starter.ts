import { STATUS, type Storage } from './storage.ts';

/** Starts storages and stores the outcome. */
export interface StorageStarter {
  /**
   * Starts a stored storage as it is at `revision`, or drops it when it is disabled, and writes the outcome.
   * @returns why it could not be started; undefined when it works or is not to.
   */
  start(storage: Storage, revision: number): Promise<string | undefined>;
  /** Lets fs drop a storage that is deleted. */
  drop(id: number, revision: number): Promise<void>;
  /** Starts storages a few at a time, without waiting; while that goes on, another call does nothing. */
  startInBackground(storages: readonly Storage[], revision: number): void;
  /** Begins no further start in the background and waits for those under way. */
  stop(): Promise<void>;
}

/** How many storages start at once in the background. */
const PARALLEL_STARTS = 4;

export function createStorageStarter(options: {
  reload: (id: number, revision: number) => Promise<{ status: string; addition: string }>;
  writeOutcome: (storage: Storage, status: string, addition?: string) => Promise<boolean>;
  onError: (error: unknown) => void;
}): StorageStarter {
  const { reload, writeOutcome, onError } = options;
  let background: Promise<unknown> | undefined;
  let isStopping = false;

  const start = async (storage: Storage, revision: number) => {
    const { status, addition } = await reload(storage.id, revision);
    if (storage.disabled) return undefined;
    const kept = addition === '' || addition === storage.addition ? undefined : addition;
    if (status !== '' && status !== STATUS.disabled) await writeOutcome(storage, status, kept);
    if (status === STATUS.works || status === STATUS.disabled) return undefined;
    return status === '' ? 'the storage is gone' : status;
  };

  return {
    start,
    async drop(id, revision) {
      await reload(id, revision);
    },
    startInBackground(storages, revision) {
      if (background || isStopping) return;
      const waiting = [...storages];
      const work = async () => {
        for (let next = waiting.shift(); next && !isStopping; next = waiting.shift()) await start(next, revision).catch(onError);
      };
      background = Promise.all(Array.from({ length: PARALLEL_STARTS }, work)).finally(() => {
        background = undefined;
      });
    },
    async stop() {
      isStopping = true;
      await background;
    },
  };
}
