import type { Egress } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import type { StorageRecord } from '@wharf/models';
import { mountPlace, type VirtualPath } from '@wharf/paths';
import { type DriverDefinition, standsOnOthers, type ThumbnailSettings } from '../../driver-contract/define-driver.ts';
import type { DriverRegistry } from '../../driver-contract/driver-registry.ts';
import type { InnerMountOptions } from '../../driver-contract/open-context.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { LoneNames } from '../../driver-contract/with-lone-removals.ts';
import type { CallSpans } from '../../driver-contract/with-spans.ts';
import type { BreakerState } from './circuit-breaker.ts';
import { type Base, createInnerMounts, type InnerMounts, type ShownAt } from './inner-mounts.ts';
import { createLoans, type Loans } from './loans.ts';
import { type KeepItem, keptItemOf, openStorage, type Surroundings, statusOf } from './open-storage.ts';
import { createOpener, type Opener } from './opener.ts';
import { createStorageMonitor, type StorageMonitor } from './storage-monitor.ts';

/** The status of a storage that is open. */
export const WORKING = 'work';
/** The status of a storage that an admin switched off. */
const DISABLED = 'disabled';

/** A configured storage, opened when first used. */
export interface Mount {
  readonly storage: StorageRecord;
  readonly definition: DriverDefinition;
  /** Undefined: no thumbnails are made of its files. */
  readonly thumbnails: ThumbnailSettings | undefined;
  /** @throws AppError STORAGE_UNAVAILABLE `storage status: failed: storage not init` */
  driver(): Promise<StorageDriver>;
}

/** How a storage gets on: `idle` (nobody used it yet), `opening`, `working`, `failed` (it could not be opened), `unavailable` (its calls fail). */
export type StorageState = 'idle' | 'opening' | 'working' | 'failed' | 'unavailable';

/** What this process saw of a storage since it knows it. */
export interface StorageHealth extends Pick<StorageMonitor, 'breaker' | 'retryAt' | 'lastFailure' | 'latencyMs' | 'calls' | 'failures'> {
  readonly storage: StorageRecord;
  readonly state: StorageState;
}

/** Receives the health of storages, by id. */
export interface StorageMetrics {
  /** @param elapsedMs undefined for calls that take as long as their content, and for those that failed */
  called(id: number, isFailure: boolean, elapsedMs: number | undefined): void;
  breakerChanged(id: number, state: BreakerState): void;
  /** There is no such storage any more. */
  forget(id: number): void;
}

/** The storages of this process. */
export interface Mounts {
  /** Takes a configuration over: what did not change stays open. Answers the mount of each enabled storage. */
  apply(storages: readonly StorageRecord[]): Map<number, Mount>;
  /** Opens a storage afresh and answers its status: `work`, `disabled`, why it failed, or empty when there is no such storage. */
  reopen(id: number): Promise<string>;
  /** The `addition` of a storage as its driver keeps it; undefined when the driver cannot read it. */
  normalisedAddition(id: number): string | undefined;
  /** Of each enabled storage, by id. */
  health(): StorageHealth[];
  /** Every enabled storage. */
  all(): Mount[];
  /** A folder of the tree for a storage that is only tried. @param id 0 for one that is not saved */
  openMount(id: number, path: string, options: InnerMountOptions): Promise<StorageDriver>;
  /** Where else changes at these paths show: in storages that stand on others. As InnerMounts has it. */
  readonly shownAt: ShownAt;
  /** Opens what is not open yet. */
  openAll(): Promise<void>;
  close(): Promise<void>;
}

export interface MountsOptions {
  readonly registry: DriverRegistry;
  readonly clock: () => number;
  /** Runs something later. @returns takes that back */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly metrics: StorageMetrics;
  /** The clear text of a stored `addition`. */
  readonly unseal: (sealed: string) => string;
  /** The only ways to the network that storages have. */
  readonly egress: Egress;
  /** What else storages are opened with. */
  readonly given?: Pick<Surroundings, 'trail' | 'site' | 'spoolFolder'>;
  readonly keepItem: KeepItem;
  /** Told what was changed below a storage that stands on it, as `inFolder` tells it. */
  readonly onChange: (paths: readonly VirtualPath[], isAnother: boolean) => void;
  /** Records the calls of a storage for traces. Undefined, and where it answers undefined: nobody does. */
  readonly spansOf?: ((storage: StorageRecord) => CallSpans | undefined) | undefined;
  /** Told when a storage has another status than the one stored or told last: it could not be opened, went away, or works again. */
  readonly onStatus: (storage: StorageRecord, status: string) => void;
  /** Told what went wrong on opening or closing. */
  readonly onError: (error: unknown, storage: StorageRecord) => void;
}

interface Connection extends Mount {
  readonly base: Base;
  /** Those of the one whose place it takes: what runs on that goes on. */
  readonly names: LoneNames;
  storage: StorageRecord;
  /** Undefined when what is stored cannot be read. What the driver keeps itself changes in it. */
  addition: string | undefined;
  /** Whether anybody asked for the driver, with whatever outcome. */
  readonly isUsed: () => boolean;
  health(): StorageHealth;
  open(): Promise<StorageDriver>;
  /** Lets go of the driver and opens another. What is under way on the old one goes on with that. */
  reopen(): Promise<StorageDriver>;
  /** The same in the background, where anybody asked for it. */
  restart(): void;
  /** Opens it now, where opening it has failed. */
  retry(): void;
  /** Another one has taken its place: it opens nothing any more, and closes when nobody uses it. */
  retire(): void;
  /** Ends what is under way on it. */
  close(): Promise<void>;
}

export function createMounts(options: MountsOptions): Mounts {
  const connections = new Map<number, Connection>();
  const loans = createLoans({ after: options.after });
  const inner = createInnerMounts(options.onChange);
  /** Why a stored storage is not mounted. */
  const absent = new Map<number, string>();
  let isClosed = false;

  const unsealed = (storage: StorageRecord): string | undefined => {
    try {
      return options.unseal(storage.addition);
    } catch (error) {
      options.onError(error, storage);
      return undefined;
    }
  };
  const connectionOf = (storage: StorageRecord): Connection | undefined => {
    const definition = options.registry.findDriver(storage.driver);
    if (storage.disabled || !definition) {
      absent.set(storage._id, storage.disabled ? DISABLED : `no driver named: ${storage.driver}`);
      return undefined;
    }
    const addition = unsealed(storage);
    const known = connections.get(storage._id);
    if (known && known.definition === definition && isSameStorage(known, addition)) {
      const isSavedAgain = known.storage.modified.getTime() !== storage.modified.getTime();
      known.storage = storage;
      known.addition = addition;
      // Only the replica that admin asks opens it anew. Why the others could not open it may be mended as well.
      if (isSavedAgain) known.retry();
      return known;
    }
    return createConnection(storage, definition, addition, { inner, loans, names: known?.names ?? new LoneNames(), options });
  };
  const replace = (id: number, next: Connection | undefined) => {
    const old = connections.get(id);
    if (old === next) return;
    if (next) {
      connections.set(id, next);
      old?.retire();
      return;
    }
    connections.delete(id);
    old?.close().catch((error) => options.onError(error, old.storage));
    options.metrics.forget(id);
  };

  return {
    apply(storages) {
      const mounts = new Map<number, Mount>();
      if (isClosed) return mounts;
      absent.clear();
      const wanted = new Map(storages.map((storage) => [storage._id, unlessOdd(storage, connectionOf, absent, options)]));
      for (const id of [...connections.keys()]) if (!wanted.get(id)) replace(id, undefined);
      for (const [id, connection] of wanted) {
        if (!connection) continue;
        replace(id, connection);
        // The record is copied: a request goes on with the configuration it began with.
        const { storage, definition, thumbnails, driver } = connection;
        mounts.set(id, { storage, definition, thumbnails, driver });
      }
      inner.applied([...connections.values()].map(({ base }) => base));
      return mounts;
    },
    async reopen(id) {
      const connection = connections.get(id);
      if (!connection) return absent.get(id) ?? '';
      const opening = connection.isUsed() ? connection.reopen() : connection.open();
      inner.reopened(connection.base);
      return opening.then(
        () => WORKING,
        (error: unknown) => statusOf(error, connection),
      );
    },
    normalisedAddition(id) {
      const connection = connections.get(id);
      if (connection?.addition === undefined) return undefined;
      try {
        return connection.definition.normaliseAddition(connection.addition);
      } catch {
        return undefined;
      }
    },
    all: () => [...connections.values()],
    openMount: (id, path, mountOptions) => inner.open(undefined, id, path, mountOptions),
    shownAt: inner.shownAt,
    health: () =>
      [...connections.values()].map((connection) => connection.health()).sort((left, right) => left.storage._id - right.storage._id),
    async openAll() {
      await Promise.allSettled([...connections.values()].map((connection) => connection.open()));
    },
    async close() {
      isClosed = true;
      const all = [...connections.values()];
      connections.clear();
      await Promise.allSettled(all.map((connection) => connection.close()));
    },
  };
}

/** What is odd about one storage is in no other's way. @returns undefined: `absent` tells why it is not mounted */
function unlessOdd(
  storage: StorageRecord,
  connectionOf: (storage: StorageRecord) => Connection | undefined,
  absent: Map<number, string>,
  { onError, onStatus }: MountsOptions,
): Connection | undefined {
  try {
    if (!storage.disabled) mountPlace(storage.mount_path);
    return connectionOf(storage);
  } catch (error) {
    const status = `it cannot be mounted: ${AppError.is(error) ? error.message : 'internal error'}`;
    absent.set(storage._id, status);
    onError(error, storage);
    if (storage.status !== status) onStatus(storage, status);
    return undefined;
  }
}

interface ConnectionParts {
  readonly inner: InnerMounts;
  readonly loans: Loans;
  readonly names: LoneNames;
  readonly options: MountsOptions;
}

function createConnection(
  storage: StorageRecord,
  definition: DriverDefinition,
  addition: string | undefined,
  parts: ConnectionParts,
): Connection {
  const { inner, loans, options } = parts;
  /** The status told last: the stored one follows later. */
  let told: string | undefined;
  let hasEnded = false;

  const report = (status: string) => {
    if (hasEnded || (told ?? connection.storage.status) === status) return;
    told = status;
    options.onStatus(connection.storage, status);
  };
  const monitor = monitorOf(() => connection, report, options);
  const opener = createOpener({
    clock: options.clock,
    after: options.after,
    async open() {
      inner.release(connection.base);
      return openStorage(definition, connection.addition, surroundingsOf(connection, parts));
    },
    lend: (opened) => loans.lend(storage._id, opened, (enter) => monitor.watch(opened, enter)),
    onOpened(hasFailed) {
      report(WORKING);
      // What opened without it is without its operations and its traits.
      if (hasFailed) inner.reopened(connection.base);
    },
    onFailure(error, isLast) {
      options.onError(error, connection.storage);
      if (isLast) return;
      monitor.noteFailure(error);
      report(statusOf(error, connection));
    },
    onError: (error) => options.onError(error, connection.storage),
    onRetired: () => inner.release(connection.base),
  });
  const end = () => {
    hasEnded = true;
    monitor.stop();
    inner.release(connection.base);
  };
  const connection: Connection = {
    base: baseOf(() => connection),
    names: parts.names,
    storage,
    definition,
    thumbnails: addition === undefined ? undefined : definition.thumbnails(addition),
    addition,
    health: () => ({
      ...numbersOf(monitor),
      storage: connection.storage,
      state: stateOf(opener, monitor.breaker),
      retryAt: !opener.isUnderWay && opener.failure ? new Date(opener.failure.retryAt) : monitor.retryAt,
    }),
    isUsed: () => opener.isUnderWay || opener.failure !== undefined,
    open: opener.open,
    reopen: opener.reopen,
    restart() {
      if (!hasEnded && connection.isUsed()) opener.reopen().catch(() => undefined);
    },
    retry() {
      if (opener.failure && !opener.isUnderWay) opener.open().catch(() => undefined);
    },
    driver: () => opener.driver().catch(refuseAsNotStarted),
    retire() {
      end();
      opener.retire();
    },
    async close() {
      end();
      // What is being opened may still come to stand on others.
      await Promise.all([opener.close().then(() => inner.release(connection.base)), loans.recall(storage._id)]);
    },
  };
  return connection;
}

/** As those see it that stand on it. */
function baseOf(connection: () => Connection): Base {
  return {
    get storage() {
      return connection().storage;
    },
    get isProxied() {
      const { definition, storage } = connection();
      return definition.config.only_proxy || definition.config.only_local || storage.web_proxy;
    },
    get standsOnOthers() {
      return standsOnOthers(connection().definition);
    },
    open: () =>
      connection()
        .driver()
        .catch((error: unknown) => {
          throw new AppError('STORAGE_UNAVAILABLE', statusOf(AppError.from(error).cause ?? error, connection()), { cause: error });
        }),
    restart: () => connection().restart(),
  };
}

function surroundingsOf(connection: Connection, { inner, names, options }: ConnectionParts): Surroundings {
  const storageId = connection.storage._id;
  return {
    storageId,
    egress: options.egress,
    ...options.given,
    names,
    spans: options.spansOf?.(connection.storage),
    warn: (error) => options.onError(error, connection.storage),
    keptItem: (name) => keptItemOf(connection, name, (before, after) => options.keepItem(storageId, name, before, after)),
    openMount: (path, mountOptions) => inner.open(connection.base, storageId, path, mountOptions),
  };
}

/** Watches the calls of a storage: metrics, status and log learn how it gets on. */
function monitorOf(connection: () => Connection, report: (status: string) => void, options: MountsOptions): StorageMonitor {
  const storage = () => connection().storage;
  return createStorageMonitor({
    standsOnOthers: () => standsOnOthers(connection().definition),
    clock: options.clock,
    after: options.after,
    onCall: (isFailure, elapsedMs) => options.metrics.called(storage()._id, isFailure, elapsedMs),
    onBreaker(state, error) {
      options.metrics.breakerChanged(storage()._id, state);
      if (state === 'closed') report(WORKING);
      if (state !== 'open') return;
      options.onError(error, storage());
      report(statusOf(error, connection()));
    },
  });
}

function stateOf({ isOpen, isUnderWay, failure }: Opener, breaker: BreakerState): StorageState {
  if (isOpen) return breaker === 'closed' ? 'working' : 'unavailable';
  if (isUnderWay) return 'opening';
  return failure ? 'failed' : 'idle';
}

/** As they are at this moment. */
function numbersOf({ breaker, lastFailure, latencyMs, calls, failures }: StorageMonitor) {
  return { breaker, lastFailure, latencyMs, calls, failures };
}

function isSameStorage({ definition, addition: known }: Connection, addition: string | undefined): boolean {
  return known === undefined || addition === undefined ? known === addition : definition.opensAlike(known, addition);
}

/** What a caller is told. Why, and where on the disk, is for the admin: it stands in the storage's status. */
function refuseAsNotStarted(error: unknown): never {
  throw new AppError('STORAGE_UNAVAILABLE', 'storage status: failed: storage not init', { cause: error });
}
