import type { Settings } from '@wharf/models';
import type { ServiceKit } from '@wharf/service-kit';
import { createTaskEngine, defineTaskKind, type TaskEngine, type TaskKind } from '@wharf/task-engine';
import { z } from 'zod';
import { type DownloadInput, downloadInput } from './download-input.ts';
import { type FetchTasks, savedFetch } from './fetch-task.ts';

/** The background work of the downloader. */
export interface DownloadTasks {
  readonly engine: TaskEngine;
  readonly fetchKind: TaskKind<DownloadInput>;
}

/** How many tasks of a list run at a time where no setting says otherwise. */
const DEFAULT_THREADS = 5;
const MAX_RETRIES = 1;

/** @param options.perUser downloads of one user that a replica works on at a time; 0: no limit. */
export function createDownloadTasks(
  kit: ServiceKit,
  options: { readonly fetches: FetchTasks; readonly settings: () => Promise<Settings>; readonly perUser: number },
): DownloadTasks {
  const { store, bus, logger, metrics } = kit;
  const { fetches } = options;
  const fetchKind = defineTaskKind({
    name: 'offline_download',
    input: downloadInput,
    checkpoint: savedFetch.nullable(),
    chunk: z.null(),
    maxRetries: MAX_RETRIES,
    run: (run) => fetches.run(run, run.checkpoint ?? undefined, (state) => run.saveCheckpoint(state ?? null)),
    onEnd: (_outcome, run) => fetches.drop(run, run.checkpoint ?? undefined),
  });
  const engine = createTaskEngine({
    owner: 'downloader',
    store,
    bus,
    logger,
    metrics,
    kinds: [fetchKind as TaskKind<never>],
    concurrencyOf: async (kind) => (await options.settings()).number(`${kind}_task_threads_num`, DEFAULT_THREADS),
    limitOfKey: (key) => (key.startsWith('user:') && options.perUser > 0 ? options.perUser : undefined),
  });
  return { engine, fetchKind };
}
