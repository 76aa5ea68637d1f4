import type { VirtualPath } from '@wharf/paths';
import { PathTree } from '../access/path-tree.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';

/** What belongs into the index under one configuration. */
export interface IndexScope {
  /** Whether an entry is left out, itself or with a folder above it. */
  isLeftOut(path: VirtualPath): boolean;
  /** Whether the storage mounted at exactly this place is left out: folders that other mounts make there are not. */
  isMountLeftOut(mountedAt: VirtualPath): boolean;
  /** Mounts in the index by their paths, each with a text that differs for another storage at the same path. */
  readonly mounts: Readonly<Record<string, string>>;
  /** Levels below the root that are indexed. */
  readonly maxDepth: number;
}

/** Storages of this driver have no entries worth a search. */
const LEFT_OUT_DRIVER = 'Virtual';
const DEFAULT_MAX_DEPTH = 20;

/**
 * Left out are storages that say so or show made-up entries, and what begins with a line of `ignore_paths` (as a text: `/a` leaves out `/ab`
 * too, `/a/` only what is below `/a`).
 */
export function indexScope({ table, settings }: Snapshot): IndexScope {
  const prefixes = settings
    .text('ignore_paths')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const mounts: Record<string, string> = {};
  const left = new Set<string>();
  for (const { mountedAt, mount } of table.mounts) {
    const { storage, definition } = mount;
    if (storage.disable_index || definition.name === LEFT_OUT_DRIVER) left.add(mountedAt);
    else mounts[mountedAt] = `${mounts[mountedAt] ?? ''}${storage._id}@${storage.modified.getTime()};`;
  }
  // Of several storages at one place one is enough.
  for (const mountedAt of Object.keys(mounts)) left.delete(mountedAt);
  const leftBelowRoot = new PathTree<true>();
  for (const mountedAt of left) if (mountedAt !== '/') leftBelowRoot.set(mountedAt as VirtualPath, true);
  // What is below an ignored folder is ignored too: its path begins with the path of the folder.
  const isIgnored = (path: string) => prefixes.some((prefix) => path.startsWith(prefix));
  return {
    isLeftOut: (path) => leftBelowRoot.nearest(path) !== undefined || isIgnored(path),
    isMountLeftOut: (mountedAt) => left.has(mountedAt),
    mounts,
    maxDepth: Math.trunc(settings.number('max_index_depth', DEFAULT_MAX_DEPTH)),
  };
}

/** Whether the admin wants no index: nothing is searched in it, nor read for it. */
export function isIndexOff({ settings }: Pick<Snapshot, 'settings'>): boolean {
  return settings.text('search_index') === 'none';
}
