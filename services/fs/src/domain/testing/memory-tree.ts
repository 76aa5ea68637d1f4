import { type RuleRecord, type StorageRecord, settingsFrom } from '@wharf/models';
import { type MountPath, parseVirtualPath, VIRTUAL_ROOT, type VirtualPath } from '@wharf/paths';
import type { DriverDefinition } from '../../driver-contract/define-driver.ts';
import { createDriverRegistry } from '../../driver-contract/driver-registry.ts';
import { NO_EGRESS } from '../../driver-contract/open-context.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { memoryDriver } from '../../drivers/memory/index.ts';
import { createLinkSigner } from '../access/link-signer.ts';
import type { Actor } from '../access/permissions.ts';
import { createRuleBook } from '../access/rule-book.ts';
import { createChanges } from '../changing/changes.ts';
import type { Operation } from '../changing/operations/operation.ts';
import { createMountTable } from '../mounts/mount-table.ts';
import { createMounts, type Mount } from '../mounts/mounts.ts';
import { NO_QUOTAS, type Quotas } from '../quota/quota.ts';
import { createFolderCache, type FolderCache } from '../reading/folder-cache.ts';
import { locate, type Snapshot } from '../snapshot/snapshot.ts';
import { ruleRecord, storageRecord } from './records.ts';

const TOKEN = 'wharf-a-permanent-token-of-tests';

/** Somebody with every permission but no role. */
export function actor(rest: Partial<Actor> = {}): Actor {
  return { id: 7, role: 0, permission: 0xffff, basePath: VIRTUAL_ROOT, ...rest };
}

export const vpath = (text: string): VirtualPath => parseVirtualPath(text);
export const mpath = (text: string): MountPath => parseVirtualPath(text) as string as MountPath;

/** A file tree over storages in memory. */
export interface MemoryTree {
  readonly snapshot: Snapshot;
  readonly folderCache: FolderCache;
  /** Paths that were said to have changed, in order. */
  readonly published: VirtualPath[];
  operation(who?: Actor, signal?: AbortSignal): Operation;
  /** Stores a text at a path of the tree, past rules and caches. */
  put(path: string, text?: string): Promise<void>;
  makeFolder(path: string): Promise<void>;
  textOf(path: string): Promise<string>;
  /** Every path that a file or an empty folder (with `/` at its end) has at or below `path`, sorted; of empty storages none. */
  everything(path?: string): Promise<string[]>;
}

export async function openTree(options: {
  storages?: readonly Partial<StorageRecord>[];
  rules?: readonly Partial<RuleRecord>[];
  settings?: Readonly<Record<string, string>>;
  drivers?: readonly DriverDefinition[];
  clock?: () => number;
  quotas?: Quotas;
}): Promise<MemoryTree> {
  const clock = options.clock ?? Date.now;
  const storages = (options.storages ?? [{}]).map((rest, index) => storageRecord({ _id: index + 1, ...rest }));
  const mounts = createMounts({
    registry: createDriverRegistry([memoryDriver, ...(options.drivers ?? [])]),
    clock,
    unseal: (text) => text,
    egress: NO_EGRESS,
    keepItem: async (_id, _name, _before, after) => after,
    onChange: (paths, isAnother) => (isAnother ? changes.entryGone(...paths) : changes.entryChanged(...paths)),
    after: () => () => {},
    metrics: { called: () => {}, breakerChanged: () => {}, forget: () => {} },
    onStatus: () => {},
    onError: () => {},
  });
  const byId = mounts.apply(storages);
  const mountable = storages.filter(({ _id }) => byId.has(_id));
  const items = Object.entries(options.settings ?? {}).map(([key, value]) => ({
    key,
    value,
    help: '',
    type: 'string',
    options: '',
    group: 0,
    flag: 1,
  }));
  const snapshot: Snapshot = {
    table: createMountTable<Mount>(mountable, ({ _id }) => byId.get(_id) as Mount),
    rules: createRuleBook((options.rules ?? []).map((rest, index) => ruleRecord({ _id: index + 1, ...rest }))),
    settings: settingsFrom({ _id: 'settings', revision: 1, items }),
    signer: createLinkSigner(TOKEN, clock),
    quotas: options.quotas ?? NO_QUOTAS,
  };
  const folderCache = createFolderCache(clock);
  const published: VirtualPath[] = [];
  const changes = createChanges(folderCache, (paths) => published.push(...paths), mounts.shownAt);
  const at = async (path: string): Promise<{ driver: Required<StorageDriver>; path: MountPath }> => {
    const located = locate(snapshot, vpath(path));
    return { driver: (await located.mount.driver()) as Required<StorageDriver>, path: located.path };
  };
  const walk = async (path: VirtualPath): Promise<string[]> => {
    const inner: string[] = [];
    for (const { name } of snapshot.table.virtualFolders(path))
      inner.push(...(await walk(vpath(`${path}/${name}`))).filter((each) => !each.endsWith(`/${name}/`)));
    if (!snapshot.table.locate(path)) return inner;
    const place = await at(path);
    for await (const entry of place.driver.list(place.path)) {
      const child = vpath(`${path}/${entry.name}`);
      inner.push(...(entry.isDirectory ? await walk(child) : [child]));
    }
    return inner.length === 0 && place.path !== '/' ? [`${path}/`] : inner;
  };
  return {
    snapshot,
    folderCache,
    published,
    operation: (who = actor(), signal = new AbortController().signal) => ({
      ...{ snapshot, actor: who, changes, folderCache, signal },
      askedAtMs: performance.now(),
    }),
    async put(path, text = path) {
      const place = await at(path);
      await place.driver.write(place.path, bytesOf(text), { overwrite: true });
    },
    async makeFolder(path) {
      const place = await at(path);
      await place.driver.makeDirectory(place.path);
    },
    async textOf(path) {
      const place = await at(path);
      return textOf(await place.driver.read(place.path));
    },
    everything: async (path = '/') => (await walk(vpath(path))).sort(),
  };
}

export async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

export async function textOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(content)).toString();
}
