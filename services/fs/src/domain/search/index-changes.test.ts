import { setTimeout } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import type { VirtualPath } from '@wharf/paths';
import { expect, it } from 'vitest';
import { openTree, vpath } from '../testing/memory-tree.ts';
import { createTestDriver } from '../testing/test-drivers.ts';
import { applyChanges } from './index-changes.ts';
import { FIRST_STATE, type IndexedFolder, NO_DEPTH_LIMIT, type SearchIndex } from './search-index.ts';

/** An index that knows every folder, with what is removed from it and queued in it. */
function knowingIndex() {
  const [removed, queued]: [unknown[], Set<VirtualPath>] = [[], new Set()];
  const index = {
    readState: async () => ({ ...FIRST_STATE, mounts: {} }),
    findFolder: async (path: VirtualPath) => ({ path, depth: NO_DEPTH_LIMIT }),
    remove: async (...asked: unknown[]) => void removed.push(asked),
    requeue: async (path: VirtualPath) => void queued.add(path),
  } as unknown as SearchIndex;
  return { index, removed, queued };
}

it('changes in one deep folder that the index does not have ask for the way to it once, in few rounds', async () => {
  const memory = await openTree({});
  let [asked, rounds] = [0, 0];
  let waiting: (() => void)[] = [];
  const index = {
    readState: async () => ({ ...FIRST_STATE, mounts: {} }),
    findFolder: (path: VirtualPath) =>
      new Promise<IndexedFolder | undefined>((resolve) => {
        asked += 1;
        if (waiting.length === 0)
          setImmediate(() => {
            rounds += 1;
            const all = waiting;
            waiting = [];
            for (const answer of all) answer();
          });
        waiting.push(() => resolve(path === '/' ? { path, depth: NO_DEPTH_LIMIT } : undefined));
      }),
    remove: async () => undefined,
  } as unknown as SearchIndex;
  const folder = '/d'.repeat(1_000);
  await applyChanges(
    index,
    memory.snapshot,
    Array.from({ length: 50 }, (_, name) => [vpath(`${folder}/${name}`)]),
  );
  expect(asked).toBe(1_001);
  expect(rounds).toBeLessThan(20);
});

it('what is gone goes with all above it that is gone: a folder that has another name would be moved in the index without it', async () => {
  const memory = await openTree({});
  await memory.makeFolder('/there');
  const { index, removed } = knowingIndex();
  await applyChanges(index, memory.snapshot, [[vpath('/there/old/inner/file')], [vpath('/there/gone')]]);
  expect(removed).toEqual([
    ['/there', ['old']],
    ['/there', ['gone']],
  ]);
});

it('a storage that takes its time for each of many changes holds up those in others no longer than one that is silent', async () => {
  const slow = createTestDriver('Slow');
  const { snapshot } = await openTree({
    storages: [{ mount_path: '/slow', driver: 'Slow' }, { mount_path: '/good' }],
    drivers: [slow.definition],
  });
  const LOOK_MS = 100;
  let looks = 0;
  slow.beforeCalls(async () => {
    looks += 1;
    await setTimeout(LOOK_MS);
  });
  const { index, removed, queued } = knowingIndex();
  const changes = Array.from({ length: 50 }, (_, number) => [vpath(`/slow/${number}`)]);
  await applyChanges(index, snapshot, [...changes, [vpath('/good/gone')]], { lateMs: 10 * LOOK_MS });
  expect(looks).toBeLessThan(25);
  expect(queued).toContain('/slow');
  expect(removed.at(-1)).toEqual(['/good', ['gone']]);
});

it('what is not there while the root of its storage is not either stays in the index, and is looked at again: a disk of the server may not be mounted', async () => {
  const away = createTestDriver('Away');
  const { snapshot } = await openTree({ storages: [{ mount_path: '/nas', driver: 'Away' }], drivers: [away.definition] });
  away.beforeCalls(async () => {
    throw new AppError('ENTRY_NOT_FOUND', 'object not found');
  });
  const { index, removed, queued } = knowingIndex();
  await applyChanges(index, snapshot, [[vpath('/nas/folder/file')]]);
  expect(removed).toEqual([]);
  expect(queued).toContain('/nas/folder');
});
