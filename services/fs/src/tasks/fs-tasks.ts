import { join } from 'node:path';
import { AppError } from '@wharf/errors';
import { type Models, readAdminRevision, readSettingsRecord, readUser, settingsFrom, type UserRecord } from '@wharf/models';
import { parseVirtualPath, type VirtualPath } from '@wharf/paths';
import { createRevisionedCache, type Logger, type ServiceKit } from '@wharf/service-kit';
import {
  createTaskEngine,
  type TaskCreator,
  type TaskEngine,
  type TaskKind,
  type TaskRun,
  type WireTask,
  wireTask,
} from '@wharf/task-engine';
import { LRUCache } from 'lru-cache';
import type { Configuration } from '../configuration.ts';
import { ownRefusal } from '../domain/access/own-refusal.ts';
import type { Changes } from '../domain/changing/changes.ts';
import type { Operation } from '../domain/changing/operations/operation.ts';
import type { Item } from '../domain/changing/operations/plan-placement.ts';
import type { Begun, Doomed } from '../domain/changing/operations/remove-entries.ts';
import { roomOfUsers } from '../domain/mounts/disk-reserve.ts';
import { createSweeping } from '../domain/sweeping/sweeping.ts';
import { readOpenInputs } from './open-inputs.ts';
import type { Verb } from './placement.ts';
import { placementKind } from './placement-kinds.ts';
import type { PlacementTaskRun } from './placement-run.ts';
import { flatteningTasks, placementTasks, removalTasks, renamingTasks } from './placement-tasks.ts';
import { removalKind } from './removal-kind.ts';
import { tidyingName } from './task-names.ts';
import { openUploadArea, type UploadArea } from './upload-area.ts';
import { uploadKind, uploadShape } from './upload-kind.ts';
import { createUploadTasks, type UploadTasks } from './upload-tasks.ts';

/** How many tasks of a kind run at a time where no setting says otherwise. */
const DEFAULT_THREADS = 5;
/** Copies and moves ask again for their user after so long, in milliseconds, and share what they learn: thousands may be one user's. */
const USER_MS = 1_000;
const MAX_USERS = 1_000;
/** How often bodies of uploads are looked for that no task needs, and how long those of failed ones stay for a retry, in milliseconds. */
const SWEEP_MS = 600_000;
const KEEP_BODIES_MS = 24 * 3_600_000;

/** The background work of fs. */
export interface FsTasks {
  readonly engine: TaskEngine;
  /**
   * The frame of a run, like that of a handler: the task's creator with the rights of today, and the configuration of today.
   *
   * @throws AppError PERMISSION_DENIED: the task is nobody's, or its creator is gone or disabled
   */
  operationOf(run: Framed): Promise<Operation>;
  /** A task for each entry that cannot be placed in one step. */
  queuePlacements(verb: Verb, items: readonly Item[], creator: TaskCreator): Promise<WireTask[]>;
  /** Tasks for files that move from below `source` directly into one folder; each for as many as one can name. */
  queueFlattening(source: VirtualPath, items: readonly Item[], creator: TaskCreator): Promise<void>;
  /** Tasks that give entries of one folder other names there: one for each folder, and for as many files as one can name. */
  queueRenamings(items: readonly Item[], creator: TaskCreator): Promise<void>;
  /** Tasks that remove entries, each for as many of one folder as one can name. */
  queueRemovals(begun: readonly Begun[], creator: TaskCreator): Promise<void>;
  /** A task that removes the empty folders below one. */
  queueTidying(folder: Doomed, creator: TaskCreator): Promise<void>;
  /** Undefined where nothing can be kept: then uploads are stored while their clients wait. */
  readonly uploads: UploadTasks | undefined;
  start(): Promise<void>;
  stop(): Promise<void>;
}

type Framed = Pick<TaskRun<never, never, never>, 'creator' | 'signal'>;

export interface FsTasksParts {
  readonly configuration: Configuration;
  readonly changes: Changes;
  readonly folderCache: Operation['folderCache'];
  /** Where bodies of uploads wait to be stored; on its disk the store may be. Undefined: nothing is kept. */
  readonly dataFolder: string | undefined;
  /** What these bodies may take together, in bytes. */
  readonly uploadLimitBytes: number;
  /** Tasks of all that have not ended; undefined: what the store has room for. */
  readonly tasksOfAll?: number | undefined;
}

export function createFsTasks(kit: ServiceKit, models: Models, parts: FsTasksParts): FsTasks {
  const { store, bus, logger, metrics, tracing, clock } = kit;
  const { changes, folderCache, dataFolder } = parts;
  const settings = createRevisionedCache({
    clock,
    readRevision: () => readAdminRevision(models),
    load: () => readSettingsRecord(models),
    make: (record) => settingsFrom(record),
  });

  const operationWith = async (run: Framed, userOf: (id: number) => Promise<UserRecord | undefined>): Promise<Operation> => {
    const [{ creator, signal }, askedAtMs] = [run, performance.now()];
    const user = creator && (await userOf(creator.id));
    if (!user) throw ownRefusal('PERMISSION_DENIED', 'the user whose task this is does not exist any more');
    if (user.disabled) throw ownRefusal('PERMISSION_DENIED', 'the user whose task this is has been disabled');
    const snapshot = await parts.configuration.snapshot({ auth: 0, admin: 0 });
    const newest = () => parts.configuration.knownSnapshot({ auth: 0, admin: 0 });
    const { _id: id, role, permission } = user;
    const actor = { id, role, permission, basePath: parseVirtualPath(user.base_path) };
    return { snapshot, actor, changes, folderCache, signal, askedAtMs, renewed: () => operationOf(run), newest };
  };

  const operationOf: FsTasks['operationOf'] = (run) => operationWith(run, (id) => readUser(models, id));
  const users = new LRUCache<number, UserRecord>({ max: MAX_USERS, ttl: USER_MS, fetchMethod: (id) => readUser(models, id) });
  const ofTask = (run: Framed) => operationWith(run, (id) => users.fetch(id));
  const ofPlacement: (run: PlacementTaskRun) => Promise<Operation> = ofTask;
  const room = dataFolder === undefined ? undefined : roomOfUsers(dataFolder);
  const takeRoom = room?.take;
  const placements = { copy: placementKind('copy', ofPlacement, takeRoom), move: placementKind('move', ofPlacement, takeRoom) };
  // A kind of its own: who does not know of other names must not take it for a move of files to where they are.
  const renaming = placementKind('move', ofPlacement, takeRoom, 'rename');
  const removal = removalKind(ofTask);
  const area = openArea(parts, logger);
  const upload = area && uploadKind(area, operationOf, kit.keys.atRest);
  const kinds: readonly TaskKind<never>[] = [placements.copy, placements.move, renaming, removal, ...(upload ? [upload] : [])];
  const listOf = new Map(kinds.map((kind) => [kind.name, kind.list]));
  const engine = createTaskEngine({
    owner: 'fs',
    store,
    bus,
    logger,
    metrics,
    tracing,
    kinds,
    tasksOfAll: parts.tasksOfAll,
    holdRoom: room?.hold,
    concurrencyOf: async (kind) => (await settings.get()).number(`${listOf.get(kind) ?? kind}_task_threads_num`, DEFAULT_THREADS),
  });
  const sweep = async () => {
    if (!area || !upload) return;
    await area.sweep(async () => {
      const inputs = await readOpenInputs(store, upload.name, new Date(clock() - KEEP_BODIES_MS));
      return new Set(inputs.map((input) => uploadShape.parse(input).file));
    });
  };
  const sweeping = createSweeping(sweep, SWEEP_MS, (error) =>
    logger.warn({ err: error }, 'uploads that nobody waits for could not be removed'),
  );

  return {
    engine,
    operationOf,
    uploads: area && upload && createUploadTasks(engine, area, upload, kit.keys.atRest),
    async start() {
      await engine.start();
      sweeping.start();
    },
    async stop() {
      sweeping.stop();
      await engine.stop();
    },
    async queuePlacements(verb, items, creator) {
      return (await engine.addAll(placements[verb], placementTasks(verb, items, creator))).map(wireTask);
    },
    async queueFlattening(source, items, creator) {
      await engine.addAll(placements.move, flatteningTasks(source, items, creator));
    },
    async queueRenamings(items, creator) {
      const [folders, files] = [items.filter(({ entry }) => entry.isDirectory), items.filter(({ entry }) => !entry.isDirectory)];
      // Together: after a refusal all entries have the names that they had.
      await engine.addTogether([
        { kind: placements.move, tasks: placementTasks('move', folders, creator) },
        { kind: renaming, tasks: renamingTasks(files, creator) },
      ]);
    },
    async queueRemovals(begun, creator) {
      await engine.addAll(removal, removalTasks(begun, creator)).catch((error: unknown) => {
        // Whoever removes makes room.
        if (!AppError.is(error, 'QUOTA_EXCEEDED')) throw error;
        return engine.addAll(removal, removalTasks(begun, creator, true));
      });
    },
    async queueTidying({ path, located }, creator) {
      await engine.add(removal, { name: tidyingName(located), creator, input: { emptyBelow: path } });
    },
  };
}

function openArea({ dataFolder, uploadLimitBytes }: FsTasksParts, logger: Logger): UploadArea | undefined {
  if (dataFolder === undefined) return undefined;
  try {
    return openUploadArea(join(dataFolder, 'uploads'), uploadLimitBytes);
  } catch (error) {
    logger.warn({ err: error }, 'uploads cannot wait here: they are stored while their clients do');
    return undefined;
  }
}
