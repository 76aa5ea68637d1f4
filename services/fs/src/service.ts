import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createEgress, createEgressPolicy, type OwnAddresses, ownEndpoints } from '@wharf/egress';
import {
  accountReads,
  accountsChanged,
  configurationChanged,
  entryChanged,
  MAX_CHANGED_PATHS,
  type Models,
  modelsOf,
  readStorages,
  readUser,
} from '@wharf/models';
import { outsideCalls } from '@wharf/pace';
import { mountPlace, parseVirtualPath, type VirtualPath } from '@wharf/paths';
import {
  type ByteServer,
  createCallers,
  createLoginsOfNow,
  createLoginTokens,
  createTransferLimit,
  type Logger,
  type Service,
  type ServiceKit,
  trailOf,
  unseal,
} from '@wharf/service-kit';
import { createTaskRpc } from '@wharf/task-engine';
import { createFsRpc } from './api/fs-rpc.ts';
import type { StorageTests } from './api/test-storage.ts';
import { createWriteRpc } from './api/write-sessions.ts';
import { createStatusReporter } from './clients/status-reporter.ts';
import { type Configuration, createConfiguration } from './configuration.ts';
import type { FsContext } from './context.ts';
import { type AccelFolder, createAccelAddress } from './data-plane/accel-redirect.ts';
import { createDataPlane } from './data-plane/data-plane.ts';
import { createDirectRequests } from './data-plane/direct-requests.ts';
import type { RangeReceiver } from './data-plane/receive-range.ts';
import { createChanges } from './domain/changing/changes.ts';
import { createOwnTurns } from './domain/changing/place-turns.ts';
import { guardDataFolder, markDataFolder } from './domain/mounts/data-folder-guard.ts';
import { rememberDisks } from './domain/mounts/known-disks.ts';
import { createMounts, type Mounts, type MountsOptions, WORKING } from './domain/mounts/mounts.ts';
import type { KeepItem } from './domain/mounts/open-storage.ts';
import { createFolderCache } from './domain/reading/folder-cache.ts';
import { createKeptLinks } from './domain/reading/kept-links.ts';
import { signature } from './domain/reading/links.ts';
import { createSweeping } from './domain/sweeping/sweeping.ts';
import { createUploads, type UploadsOptions } from './domain/uploads/uploads.ts';
import { createSessionParts } from './domain/writes/session-parts.ts';
import { createWriteSessions } from './domain/writes/write-sessions.ts';
import type { DriverDefinition } from './driver-contract/define-driver.ts';
import { type DraftSpool, openDraftSpool } from './driver-contract/draft-spool.ts';
import { createDriverRegistry, type DriverRegistry } from './driver-contract/driver-registry.ts';
import type { Site } from './driver-contract/open-context.ts';
import { DRIVERS } from './drivers/index.ts';
import { createChangeFeed } from './events/change-feed.ts';
import { createStorageMetrics } from './metrics/storage-metrics.ts';
import { storageSpans } from './metrics/storage-spans.ts';
import { createSearchKeeper } from './search-engines/search-keeper.ts';
import { createOnce } from './store/answered-calls.ts';
import { createChangeLog } from './store/change-log.ts';
import { diskNotesIn } from './store/disk-notes.ts';
import { createLoneUploadStore } from './store/lone-upload-store.ts';
import { createSharedTurns } from './store/place-turns.ts';
import { createUploadStore } from './store/upload-store.ts';
import { createWriteSessionStore } from './store/write-session-store.ts';
import { createFsTasks } from './tasks/fs-tasks.ts';
import { createPictureMaker, type PictureMaker } from './thumbnails/picture-maker.ts';
import { createThumbnails, type Thumbnails } from './thumbnails/thumbnails.ts';

export interface FsOptions extends OwnAddresses {
  /** Every kind of storage that it knows. */
  readonly drivers?: readonly DriverDefinition[] | undefined;
  /** A folder for what can be made again, and for uploads that wait to be stored. Undefined: nothing of that is kept. */
  readonly dataDir?: string | undefined;
  /** What uploads that wait may take together as tasks, and once more in parts. */
  readonly waitingUploadBytes?: number | undefined;
  /** Uploads and downloads at a time; undefined: as createTransferLimit() has it. */
  readonly maxTransfers?: number | undefined;
  /** Hours after which an upload in parts ends that nobody goes on with. */
  readonly uploadIdleHours?: number | undefined;
  /** Unfinished uploads in parts of one user, and of all. */
  readonly uploadsPerUser?: number | undefined;
  readonly uploadsOfAll?: number | undefined;
  /** Tasks of all that have not ended; undefined: what the store has room for. */
  readonly tasksOfAll?: number | undefined;
  /** Folders inside `dataDir` that storages may show, beside its `files`. */
  readonly filesDir?: string | undefined;
  /** Where the search index is a file of this process alone. Undefined: it is in the store, shared by all replicas. */
  readonly searchDir?: string | undefined;
  /** Where other services reach this replica's data plane. Undefined: any replica will do. */
  readonly dataSelfUrl?: string | undefined;
  /** Private addresses that files of a storage may be at all the same. */
  readonly egressAllow?: readonly string[] | undefined;
  /** What addresses in `.strm` files begin with, where their storage says nothing else. */
  readonly siteUrl?: string | undefined;
  /** For clients that reach the data plane without a gateway, as the gateway has them. */
  readonly trustedProxies?: readonly string[] | undefined;
  readonly corsOrigins?: readonly string[] | undefined;
  /** Folders from which proxies in front of us take files by themselves. */
  readonly accelRedirect?: readonly AccelFolder[] | undefined;
  /** There is no other replica to tell what changed. */
  readonly isAlone?: boolean | undefined;
}

/** fs as a part of its process: others there hand it bytes, and requests for them, without a socket. */
export interface FsService extends Service {
  readonly writes: RangeReceiver;
  readonly bytes: ByteServer;
}

const SWEEP_WRITES_MS = 600_000;
const HOUR_MS = 3_600_000;
const DEFAULT_UPLOAD_IDLE_HOURS = 24;
const DEFAULT_UPLOADS_PER_USER = 1_000;
const DEFAULT_UPLOADS_OF_ALL = 20_000;
const DEFAULT_WAITING_BYTES = 64 * 1024 ** 3;

/** The file tree: gRPC for everything but bytes, an HTTP data plane for those. */
export function createFsService(
  {
    drivers = DRIVERS,
    dataDir,
    waitingUploadBytes = DEFAULT_WAITING_BYTES,
    maxTransfers,
    uploadIdleHours = DEFAULT_UPLOAD_IDLE_HOURS,
    uploadsPerUser = DEFAULT_UPLOADS_PER_USER,
    uploadsOfAll = DEFAULT_UPLOADS_OF_ALL,
    tasksOfAll,
    filesDir,
    searchDir,
    dataSelfUrl = '',
    isAlone = false,
    egressAllow = [],
    trustedProxies = [],
    corsOrigins = [],
    accelRedirect = [],
    siteUrl,
    ...own
  }: FsOptions,
  kit: ServiceKit,
): FsService {
  const { logger, clock, machineClock, bus } = kit;
  const models = modelsOf(kit.store);
  const filesFolders = [...(dataDir === undefined ? [] : [join(dataDir, 'files')]), ...(filesDir === undefined ? [] : [filesDir])];
  const diskNotes = dataDir === undefined ? undefined : diskNotesIn(dataDir);
  const registry = createDriverRegistry(drivers.map((driver) => guardDataFolder(rememberDisks(driver, diskNotes), dataDir, filesFolders)));
  const { mounts, statuses, tests } = createStorages(kit, models, registry, {
    ...{ own, egressAllow, site: siteOf(siteUrl, () => configuration), onWorking: (place: VirtualPath) => keeper.noteChanges([place]) },
    onChange: (paths, isAnother) => (isAnother ? changes.entryGone(...paths) : changes.entryChanged(...paths)),
    spoolFolder: dataDir === undefined ? undefined : join(dataDir, 'unsized'),
  });
  const configuration = createConfiguration(kit, models, mounts);
  const replica = randomUUID();
  const keeper = createSearchKeeper(kit, { configuration, folderCache: () => folderCache, replica, searchDir });
  const folderCache = createFolderCache(clock, keeper.noteListing);
  const links = createKeptLinks(machineClock);
  const forget = forgetIn(mounts, folderCache, links, { forget: keeper.noteElsewhere });
  const feed = isAlone ? undefined : createFeed(kit, models, forget, replica);
  const publish = (paths: readonly VirtualPath[]) => {
    links.forget([...paths, ...mounts.shownAt(paths)]);
    bus.publish(entryChanged, { replica, paths: paths.length > MAX_CHANGED_PATHS ? ['/'] : [...paths] });
    feed?.note(paths);
  };
  const changes = createChanges(folderCache, publish, mounts.shownAt, keeper);
  const pictures = createPictureMaker();
  const thumbnails = openThumbnails(pictures, dataDir, logger);
  const tasks = createFsTasks(kit, models, {
    configuration,
    changes,
    folderCache,
    dataFolder: dataDir,
    uploadLimitBytes: waitingUploadBytes,
    tasksOfAll,
  });
  const reads = accountReads(models, { unseal: (sealed) => unseal(kit.keys.atRest, sealed), clock });
  const takeTurn = isAlone ? createOwnTurns() : createSharedTurns(models, clock);
  const once = createOnce(models, clock);
  const context: FsContext = { configuration, folderCache, links, changes, thumbnails, tasks, accounts: reads, takeTurn, once };

  const spool = dataDir === undefined ? undefined : openSpool(join(dataDir, 'spool'), waitingUploadBytes, logger);
  const { writes, uploads, ...writing } = createWriting(kit, models, context, {
    ...{ dataSelfUrl, uploadIdleHours, isAlone, spool },
    most: { ofUser: uploadsPerUser, ofAll: uploadsOfAll },
  });
  const callers = createCallers({ tokens: createLoginTokens(kit.keys.jwt, clock), reads, clock });
  const direct = createDirectRequests(kit.keys.installation, { trustedProxies, corsOrigins });
  const accelAddress = createAccelAddress(accelRedirect);
  const transfers = createTransferLimit(maxTransfers, kit.openCalls.isShort);
  const dataPlane = createDataPlane({ context, writes, uploads, kit, callers, direct, transfers, accelAddress });

  return {
    rpc: createFsRpc({ context, keeper, mounts, registry, tests, replica }),
    furtherRpcs: [createTaskRpc(tasks.engine, createLoginsOfNow(reads)), createWriteRpc(context, writes, uploads)],
    writes,
    bytes: dataPlane.serve,
    http: dataPlane.listener,
    async start() {
      bus.subscribe(configurationChanged, () => {
        configuration.invalidate();
        keeper.wake();
      });
      bus.subscribe(accountsChanged, (event) => {
        if (callers.hear(event)) configuration.invalidateToken();
      });
      bus.subscribe(entryChanged, (event) => {
        if (event.replica !== replica) forget(event.paths);
      });
      if (dataDir !== undefined) await markDataFolder(dataDir);
      await feed?.start();
      await tasks.start();
      await writing.start();
      // Storages open behind the scenes: one that hangs must not keep the others waiting.
      configuration.snapshot({ auth: 0, admin: 0 }).then(
        () => {
          keeper.wake();
          return mounts.openAll();
        },
        (error) => logger.warn({ err: error }, 'storages are opened when they are first used'),
      );
    },
    drain: () => tasks.engine.stop(),
    async stop() {
      await tasks.stop();
      await writing.stop();
      pictures.close();
      await keeper.close();
      await mounts.close();
      await feed?.stop();
      statuses.stop();
    },
  };
}

function openThumbnails(maker: PictureMaker, dataDir: string | undefined, logger: Logger): Thumbnails {
  return createThumbnails({
    maker,
    defaultFolder: dataDir === undefined ? undefined : join(dataDir, 'thumbnails'),
    onError: (error) => logger.warn({ err: error }, 'a thumbnail could not be kept'),
  });
}

function openSpool(folder: string, limitBytes: number, logger: Logger): DraftSpool | undefined {
  try {
    return openDraftSpool(folder, limitBytes);
  } catch (error) {
    logger.warn({ err: error }, 'parts of files cannot be kept here: storages that take whole files only take no uploads in parts');
    return undefined;
  }
}

interface WritingOptions extends Pick<UploadsOptions, 'most'> {
  readonly isAlone: boolean;
  readonly dataSelfUrl: string;
  readonly uploadIdleHours: number;
  readonly spool: DraftSpool | undefined;
}

/** Files on their way into the tree, in whatever parts, and what takes away those that nobody goes on with. */
function createWriting(
  { store, clock, logger }: ServiceKit,
  models: Models,
  { tasks, configuration }: FsContext,
  { dataSelfUrl, uploadIdleHours, isAlone, spool, most }: WritingOptions,
) {
  const { uploads: uploadStore, sessions: writeStore } = isAlone
    ? createLoneUploadStore(store)
    : { uploads: createUploadStore(store), sessions: createWriteSessionStore(store) };
  const sessions = createSessionParts({
    store: writeStore,
    operationOf: (userId, signal) => tasks.operationOf({ creator: { id: userId, name: '', role: 0 }, signal }),
    currentSnapshot: () => configuration.snapshot({ auth: 0, admin: 0 }),
    clock,
    dataUrl: dataSelfUrl,
    uploadIdleMs: uploadIdleHours * HOUR_MS,
    spool,
  });
  const writes = createWriteSessions(sessions);
  const uploads = createUploads({ parts: sessions, store: uploadStore, clock, most });
  const isActive = async (userId: number) => (await readUser(models, userId))?.disabled === false;
  const sweep = async () => {
    await uploads.endOfOthers(isActive);
    await writes.sweep();
  };
  const sweeping = createSweeping(sweep, SWEEP_WRITES_MS, (error) => logger.warn({ err: error }, 'write sessions could not be swept'));
  return {
    writes,
    uploads,
    async start() {
      await writeStore.init();
      sweeping.start();
    },
    async stop() {
      sweeping.stop();
      await uploads.close();
      await writes.close();
    },
  };
}

interface StoragesOptions {
  /** Private addresses that files of a storage may be at all the same. */
  readonly egressAllow: readonly string[];
  readonly own: OwnAddresses;
  readonly onChange: MountsOptions['onChange'];
  /** Told the place of a storage that was away and is there again. */
  readonly onWorking: (place: VirtualPath) => void;
  readonly site: Site;
  readonly spoolFolder: string | undefined;
}

/** @param configuration is asked for later: it stands on the storages */
function siteOf(url: string | undefined, configuration: () => Configuration): Site {
  return {
    url,
    async signer() {
      const snapshot = await configuration().knownSnapshot({ auth: 0, admin: 0 });
      return (path) => signature(snapshot, path as VirtualPath);
    },
  };
}

/** The storages, what tells admin how they get on, and what tries those that are not mounted. */
function createStorages(
  kit: ServiceKit,
  models: Models,
  registry: DriverRegistry,
  { own, egressAllow, onChange, onWorking, site, spoolFolder }: StoragesOptions,
) {
  const { clock, logger, peers } = kit;
  const statuses = createStatusReporter({
    send: (id, status) => peers.admin.reportStorageStatus({ id, status }, kit.ownCall()),
    after,
    onError: (error, id) => logger.warn({ err: error, storage: id }, 'the status of a storage could not be reported'),
  });
  const openSealed = (sealed: string) => unseal(kit.keys.atRest, sealed);
  const egress = createEgress(
    createEgressPolicy({ audience: 'admin', allow: [], forbidden: ownEndpoints(own) }),
    createEgressPolicy({ audience: 'user', allow: egressAllow, forbidden: ownEndpoints(own) }),
  );
  const given = { trail: trailOf(kit.keys.installation), site, spoolFolder };
  const keepItem: KeepItem = async (id, name, before, after) =>
    (await peers.admin.keepStorageItem({ id, name, before, after }, kit.ownCall())).value;
  const mounts = createMounts({
    registry,
    clock,
    after,
    metrics: createStorageMetrics(kit.metrics),
    unseal: openSealed,
    egress,
    given,
    keepItem,
    onChange,
    spansOf: (storage) => storageSpans(kit.tracing, storage),
    onStatus(storage, status) {
      statuses.report(storage._id, status);
      if (status === WORKING) onWorking(mountPlace(storage.mount_path));
    },
    onError: (error, storage) => logger.warn({ err: error, storage: storage.mount_path }, 'storage'),
  });
  const tests: StorageTests = {
    findSaved: async (id) => {
      const record = (await readStorages(models)).find(({ _id }) => _id === id);
      return record && { id, driver: record.driver, disabled: record.disabled, addition: readable(() => openSealed(record.addition)) };
    },
    egress,
    given,
    keepItem,
    openMount: mounts.openMount,
    clock,
    onError: (error, driver) => logger.warn({ err: error, driver }, 'a storage that was tested'),
  };
  return { mounts, statuses, tests };
}

/** Undefined for what cannot be read. */
function readable<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Has all of these forget what others changed. */
function forgetIn({ shownAt }: Mounts, ...caches: readonly { forget(paths: readonly VirtualPath[]): void }[]) {
  return (paths: readonly string[]): void => {
    const told = paths.map(parseVirtualPath);
    const changed = [...told, ...shownAt(told)];
    for (const cache of caches) cache.forget(changed);
  };
}

/** What other replicas change is forgotten here. */
function createFeed({ logger, clock }: ServiceKit, models: Models, forget: (paths: readonly string[]) => void, replica: string) {
  return createChangeFeed({
    log: createChangeLog(models, clock),
    replica,
    clock: () => performance.now(),
    onChange: forget,
    onError: (error) => logger.warn({ err: error }, 'changes could not be exchanged with other replicas'),
  });
}

/** What waits keeps no process alive, and is no part of the call that began it. */
function after(ms: number, run: () => void): () => void {
  const timer = outsideCalls(() => setTimeout(run, ms));
  timer.unref();
  return () => clearTimeout(timer);
}
