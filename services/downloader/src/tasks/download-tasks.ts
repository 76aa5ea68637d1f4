import { AppError } from '@wharf/errors';
import { type Settings, taskModelsOf } from '@wharf/models';
import { counter, type ServiceKit } from '@wharf/service-kit';
import {
  createTaskEngine,
  defineTaskKind,
  derivedTaskId,
  isTooMany,
  type NewTask,
  postponed,
  postponedMs,
  type RecordRoom,
  type TaskEngine,
  type TaskKind,
  type TaskRun,
} from '@wharf/task-engine';
import { z } from 'zod';
import { BUILT_IN_TOOL, type DownloadInput, downloadInput } from '../domain/download-input.ts';
import { type FetchState, type FetchTasks, fetchState, hasProgress } from './fetch-task.ts';
import { type SavedTool, savedTool, type ToolTasks, type TransferParent } from './tool-task.ts';
import { savedTransfer, type TransferInput, transferInput } from './transfer-run.ts';
import type { TransferTasks } from './transfer-task.ts';

/** The background work of the downloader. */
export interface DownloadTasks {
  readonly engine: TaskEngine;
  /** The kind of task that has a tool's downloads. */
  kindOf(tool: string): TaskKind<DownloadInput>;
  /** There may be room now for downloads that wait for it. */
  hurry(): void;
  /** Queues transfers of one download's results; those that are queued already are left out. */
  queueTransfers(parent: TransferParent, transfers: readonly TransferInput[]): Promise<void>;
  /** Before a download is begun anew: its transfers of the time before have its folder. @throws what {@link postponed} makes: some have not ended */
  requireTransferred(id: string): Promise<void>;
}

/** How many tasks of a list run at a time where no setting says otherwise. */
const DEFAULT_THREADS = 5;
/** Downloads of one external tool that a replica follows at a time: it asks for news each second, the tool does the work. */
const FOLLOWED_PER_TOOL = 64;
const DOWNLOAD_RETRIES = 1;
const TRANSFER_RETRIES = 2;
/** While a download goes on, for hours or days, the right to it is asked for again so often, in milliseconds. */
const ASK_AGAIN_MS = 60_000;
/** A download whose results find no room in the queue, or that waits for its own transfers, looks again after so long, in milliseconds. */
const WAIT_FOR_ROOM_MS = 30_000;

export interface DownloadTaskOptions {
  /**
   * Asked before anything is fetched, and while it is: the one whose download it is may have lost the right since it was queued, or begun.
   * @throws AppError PERMISSION_DENIED
   */
  readonly requireTarget: (run: Pick<TaskRun<DownloadInput, never, never>, 'input' | 'creator' | 'signal'>) => Promise<void>;
  /** ASK_AGAIN_MS unless told. @internal given by tests only */
  readonly askAgainMs?: number;
  readonly fetches: FetchTasks;
  readonly toolDownloads: ToolTasks;
  readonly transfers: TransferTasks;
  readonly settings: () => Promise<Settings>;
  /** Tools whose tasks are left to other replicas. */
  readonly avoidedTools: () => readonly string[];
  /** Downloads of one user that a replica works on at a time; 0: all places of a tool but one. Of one tool; 0: as the constants say. */
  readonly perUser: number;
  readonly perTool: number;
  /** Tasks of all that have not ended; undefined: what the store has room for. */
  readonly tasksOfAll?: number | undefined;
  /** For what the store keeps of them; undefined: it has room for all. */
  readonly holdRoom?: RecordRoom | undefined;
}

const checkpoint = z.union([fetchState, z.object({ tool: savedTool })]).nullable();
type Checkpoint = z.output<typeof checkpoint>;
const fetchOf = (saved: Checkpoint | undefined): FetchState | undefined => (saved && !('tool' in saved) ? saved : undefined);
const toolOf = (saved: Checkpoint | undefined): SavedTool | undefined => (saved && 'tool' in saved ? saved.tool : undefined);

export function createDownloadTasks(
  kit: Pick<ServiceKit, 'store' | 'bus' | 'logger' | 'metrics' | 'tracing'>,
  options: DownloadTaskOptions,
): DownloadTasks {
  const { store, bus, logger, metrics, tracing } = kit;
  const { fetches, toolDownloads, transfers } = options;
  const failures = counter(metrics, 'wharf_downloader_failures_total');
  const downloadsOf = (name: string) =>
    defineTaskKind({
      name,
      list: 'offline_download',
      input: downloadInput,
      checkpoint,
      maxRetries: DOWNLOAD_RETRIES,
      async run(run) {
        try {
          await options.requireTarget(run);
          await whileAllowed(run, options, (signal) =>
            run.input.tool === BUILT_IN_TOOL
              ? fetches.run({ ...run, signal }, fetchOf(run.checkpoint), (state) => run.saveCheckpoint(state ?? null, hasProgress(state)))
              : toolDownloads.run({ ...run, signal }, toolOf(run.checkpoint), (tool) => run.saveCheckpoint({ tool })),
          );
        } catch (error) {
          if (!run.signal.aborted && postponedMs(error) === undefined)
            failures.inc({ tool: run.input.tool, reason: AppError.from(error).code });
          throw error;
        }
      },
      onEnd: (_outcome, run) =>
        run.input.tool === BUILT_IN_TOOL
          ? fetches.drop(run, fetchOf(run.checkpoint))
          : toolDownloads.drop(run, toolOf(run.checkpoint), () => run.saveCheckpoint(null)),
    });
  // A torrent without peers must not keep other downloads waiting.
  const fetchKind = downloadsOf('offline_download');
  const toolKind = downloadsOf('offline_download_tool');
  const transferKind = defineTaskKind({
    name: 'offline_download_transfer',
    input: transferInput,
    checkpoint: savedTransfer,
    maxRetries: TRANSFER_RETRIES,
    run: (run) => transfers.run(run),
    onEnd: (outcome, run) => transfers.end(outcome, run),
  });
  const limits = createDownloadLimits(options, fetchKind.name, toolKind.name);
  const engine = createTaskEngine({
    owner: 'downloader',
    store,
    bus,
    logger,
    metrics,
    tracing,
    kinds: [fetchKind, toolKind, transferKind],
    tasksOfAll: options.tasksOfAll,
    holdRoom: options.holdRoom,
    ...limits,
    avoidedKeys: () => [...options.avoidedTools().map((tool) => `tool:${tool}`), ...transfers.unreadable().map(partsOf)],
  });
  const { tasks } = taskModelsOf(store, 'downloader');
  return {
    engine,
    kindOf: (tool) => (tool === BUILT_IN_TOOL ? fetchKind : toolKind),
    hurry() {
      engine.hurry(fetchKind).catch((error) => logger.warn({ err: error }, 'downloads that wait were not told of more room'));
    },
    async queueTransfers({ id, creator, round }, wanted) {
      const key = partsOf(id);
      const queued = await tasks.find({ keys: key }, { name: 1 }).lean<{ _id: string; name: string }[]>();
      // Those of a time before have the same names, those of earlier versions other ids.
      const known = new Set(queued.map(({ _id, name }) => (round === undefined ? name : _id)));
      const all = wanted.map(
        (input): NewTask<TransferInput> => ({
          // A worker that pauses between the lookup and this queues nothing twice.
          id: derivedTaskId(id, round === undefined ? input.name : `${round}/${input.name}`),
          name: transferName(input),
          creator,
          input,
          keys: [key],
        }),
      );
      const missing = all.filter(({ id: own = '', name }) => !known.has(round === undefined ? name : own));
      await engine.addAll(transferKind, missing).catch((error) => {
        // What was downloaded must not be given up because others have queued so much.
        const isFull = AppError.is(error, 'QUOTA_EXCEEDED') || (AppError.is(error, 'RATE_LIMITED') && !isTooMany(error));
        throw isFull ? postponed('waits until other tasks have ended', WAIT_FOR_ROOM_MS) : error;
      });
    },
    async requireTransferred(id) {
      // By the key alone: an embedded store would go by whether they are done, and look at all downloads that are not.
      const known = await tasks.find({ keys: partsOf(id) }, { done: 1, paused: 1 }).lean<{ done: boolean; paused: boolean }[]>();
      if (known.some(({ done }) => !done)) throw waitsFor(known);
    },
  };
}

/** @param known transfers of the time before, some of which have not ended */
function waitsFor(known: readonly { readonly done: boolean; readonly paused: boolean }[]): AppError {
  // Whoever paused them is the only one who can end this.
  const isForPeople = known.every(({ done, paused }) => done || paused);
  const until = isForPeople ? 'its paused transfers are resumed or cancelled' : 'what it brought before is transferred';
  return postponed(`waits until ${until}`, WAIT_FOR_ROOM_MS);
}

/** Runs a download until its user may have nothing brought there any more. @throws what `requireTarget` throws, and `work` */
async function whileAllowed(
  run: Parameters<DownloadTaskOptions['requireTarget']>[0],
  { requireTarget, askAgainMs = ASK_AGAIN_MS }: Pick<DownloadTaskOptions, 'requireTarget' | 'askAgainMs'>,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const asking = setInterval(() => void requireTarget(run).catch((error) => over.abort(error)), askAgainMs);
  try {
    await work(AbortSignal.any([run.signal, over.signal]));
  } catch (error) {
    // Whatever it ended with.
    if (!run.signal.aborted) over.signal.throwIfAborted();
    throw error;
  } finally {
    clearInterval(asking);
  }
}

/** How many downloads a replica works on at a time: in all, of a tool, and of a user. */
function createDownloadLimits(options: DownloadTaskOptions, fetchKind: string, toolKind: string) {
  /** Of SimpleHttp, as the settings said when they were last asked. */
  let threads = DEFAULT_THREADS;
  const placesOf = (tool: string): number => {
    if (tool !== BUILT_IN_TOOL) return options.perTool || FOLLOWED_PER_TOOL;
    return options.perTool === 0 ? threads : Math.min(threads, options.perTool);
  };
  const limitOfKey = (key: string): number | undefined => {
    const [what, tool = ''] = key.split(':');
    if (what === 'user') return options.perUser || undefined;
    if (what === 'tool') return placesOf(tool);
    // Whoever comes next finds a place, however slow the downloads of one user are.
    return what === 'share' && options.perUser === 0 ? Math.max(1, placesOf(tool) - 1) : undefined;
  };
  const concurrencyOf = async (kind: string): Promise<number> => {
    if (kind === toolKind) return Number.POSITIVE_INFINITY;
    const wanted = (await options.settings()).number(`${kind}_task_threads_num`, DEFAULT_THREADS);
    if (kind === fetchKind) threads = wanted;
    return wanted;
  };
  const shareOf = (places: number) => options.perUser || Math.max(1, places - 1);
  return { concurrencyOf, limitOfKey, shareOf };
}

/** The keys of a download, by which a replica counts what it works on: of a tool, of a user, and of a user at a tool. */
export const keysOfDownload = (tool: string, userId: number) => [`tool:${tool}`, `user:${userId}`, `share:${tool}:${userId}`];

/** The key of the transfers of one download. */
const partsOf = (parent: string) => `parent:${parent}`;

/** Clients parse it. The source is a place of ours, so its bracket is empty and its path begins at the task. */
function transferName({ name, mountPath, innerPath }: TransferInput): string {
  return `transfer [](/${name}) to [${mountPath}](${innerPath})`;
}
