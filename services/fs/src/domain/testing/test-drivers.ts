import type { MountPath } from '@wharf/paths';
import { z } from 'zod';
import { stringItem } from '../../driver-contract/config-items.ts';
import { type DriverConfig, type DriverDefinition, defineDriver } from '../../driver-contract/define-driver.ts';
import type { CallOptions, DirectLink, OptionalOperation, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import { MemoryDriver } from '../../drivers/memory/driver.ts';

/** A memory storage under its own name, which the test can look into, and from which operations can be taken. */
export interface TestDriver {
  readonly definition: DriverDefinition;
  /** What is stored; the same through every opening of one `store` text. */
  storeOf(name?: string): MemoryDriver;
  /** How often a folder was listed. */
  listings(): number;
  /** How often names were asked for. */
  namings(): number;
  /** Waited for before each listing goes on. */
  holdListings(gate: Promise<void>): void;
  /** Runs when a folder was listed, before its entries are answered. */
  afterListing(run: (path: string) => Promise<void>): void;
  /** How opening goes; resolves by default. */
  onOpen(run: (addition: string) => Promise<void>): void;
  /** Runs before each call of an opened storage: it may fail, or hang until the call's signal aborts. @param store as in its `addition` */
  beforeCalls(run: (store: string, signal: AbortSignal | undefined) => Promise<void>): void;
  /** Runs between the moment when a call of an opened storage is done, and the one when its caller learns so. */
  delayAnswers(run: () => Promise<void>): void;
  /** Gives files addresses of their own. Without it, drivers that are opened then have none. */
  linkBy(link: (path: MountPath) => DirectLink): void;
  /** Writes to these paths fail: the storage is full. */
  failWrites(when: (path: string) => boolean): void;
  /** Which copies are refused with UNSUPPORTED_OPERATION; none by default. */
  refuseCopies(when: (from: MountPath, isDirectory: boolean) => boolean): void;
  /** How often each operation was called since the last time this was asked. */
  calls(): Partial<Record<keyof StorageDriver, number>>;
  /** Drivers opened, and of those closed. */
  counts(): { opened: number; closed: number };
}

/**
 * @param without operations that the driver lacks.
 * @param options what differs from: sorted by us, always proxied, listings cached.
 */
export function createTestDriver(
  name: string,
  without: readonly OptionalOperation[] = [],
  options: Partial<DriverConfig> = {},
): TestDriver {
  const stores = new Map<string, MemoryDriver>();
  let listings = 0;
  let namings = 0;
  let opened = 0;
  let closed = 0;
  let listed = async (_path: string) => {};
  let gate: Promise<void> = Promise.resolve();
  const counted: Record<string, number> = {};
  let isRefused = (_from: MountPath, _isDirectory: boolean) => false;
  let isFull = (_path: string) => false;
  let linkOf: ((path: MountPath) => DirectLink) | undefined;
  let before = async (_store: string, _signal: AbortSignal | undefined) => {};
  let delay = async () => {};
  let open: (addition: string) => Promise<void> = async () => {};
  const storeOf = (store = ''): MemoryDriver => {
    const known = stores.get(store) ?? new MemoryDriver();
    stores.set(store, known);
    return known;
  };
  const wrap = (store: MemoryDriver, storeName: string): StorageDriver => {
    const begin = (call: CallOptions | undefined) => before(storeName, call?.signal);
    const driver: StorageDriver = {
      traits: store.traits,
      async stat(path, call) {
        await begin(call);
        return store.stat(path, call);
      },
      async *list(path, call) {
        listings += 1;
        await begin(call);
        const entries = await Array.fromAsync(store.list(path, call));
        await gate;
        await listed(path);
        await delay();
        yield* entries;
      },
      async read(path, range, call) {
        await begin(call);
        return store.read(path, range, call);
      },
      async write(path, content, call) {
        await begin(call);
        if (isFull(path)) throw storageError('QUOTA_EXCEEDED');
        return store.write(path, content, call);
      },
      async makeDirectory(path, call) {
        await begin(call);
        return store.makeDirectory(path, call);
      },
      async remove(path, call) {
        await begin(call);
        return store.remove(path, call);
      },
      async rename(from, to, call) {
        await begin(call);
        return store.rename(from, to, call);
      },
      async copy(from, to, call) {
        await begin(call);
        if (isRefused(from, (await store.stat(from)).isDirectory)) throw storageError('UNSUPPORTED_OPERATION');
        return store.copy(from, to, call);
      },
      async listNames(path, version, call) {
        namings += 1;
        await begin(call);
        return store.listNames(path, version, call);
      },
      statMany: (path, names, call) => store.statMany(path, names, call),
      close: async () => {
        closed += 1;
      },
    };
    if (linkOf) {
      const link = linkOf;
      driver.link = async (path, call) => {
        await begin(call);
        await store.stat(path, call);
        return link(path);
      };
    }
    for (const operation of without) delete driver[operation];
    return counting(driver, counted, () => delay());
  };
  return {
    definition: defineDriver({
      name,
      label: name,
      internal: true,
      config: { local_sort: true, only_proxy: true, ...options },
      configSchema: z.object({ store: stringItem() }),
      open: async (config) => {
        await open(config.store);
        opened += 1;
        return wrap(storeOf(config.store), config.store);
      },
    }),
    storeOf,
    listings: () => listings,
    namings: () => namings,
    holdListings(next) {
      gate = next;
    },
    afterListing(run) {
      listed = run;
    },
    linkBy(link) {
      linkOf = link;
    },
    beforeCalls(run) {
      before = run;
    },
    delayAnswers(run) {
      delay = run;
    },
    failWrites(when) {
      isFull = when;
    },
    onOpen(run) {
      open = run;
    },
    refuseCopies(when) {
      isRefused = when;
    },
    calls() {
      const calls = { ...counted };
      for (const operation of Object.keys(counted)) delete counted[operation];
      return calls;
    },
    counts: () => ({ opened, closed }),
  };
}

/** The same driver, counting its calls. @param delay passes before the answer of one that answers a promise */
function counting(driver: StorageDriver, counted: Record<string, number>, delay: () => Promise<void>): StorageDriver {
  return new Proxy(driver, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        counted[String(key)] = (counted[String(key)] ?? 0) + 1;
        const answer: unknown = Reflect.apply(value, target, given);
        return answer instanceof Promise ? answer.finally(delay) : answer;
      };
    },
  });
}
