import type { ChangedPaths } from './index-changes.ts';

/** Changes that the index has still to follow, each once. */
export interface NotedChanges {
  note(...paths: ChangedPaths): void;
  size(): number;
  /** All of them, which are forgotten here. */
  take(): ChangedPaths[];
}

export function createNotedChanges(): NotedChanges {
  const noted = new Map<string, ChangedPaths>();
  return {
    note: (...paths) => void noted.set(paths.join('\n'), paths),
    size: () => noted.size,
    take() {
      const taken = [...noted.values()];
      noted.clear();
      return taken;
    },
  };
}
