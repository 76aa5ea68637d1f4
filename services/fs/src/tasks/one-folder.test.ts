import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { haveSameContent } from '../domain/changing/same-content.ts';
import { coarseView } from '../domain/testing/coarse-view.ts';
import { bytesOf, type MemoryTree, mpath, openTree } from '../domain/testing/memory-tree.ts';
import { type NotedCall, noteCalls } from '../domain/testing/noted-calls.ts';
import { refusalOf } from '../domain/testing/refusal.ts';
import { defineDriver } from '../driver-contract/define-driver.ts';
import type { StorageDriver } from '../driver-contract/storage-driver.ts';
import { MemoryDriver } from '../drivers/memory/driver.ts';
import type { PlacementInput } from './placement.ts';
import { flatten, moveEntries, runPlacement } from './testing/place-now.ts';
import { createTestRun } from './testing/test-run.ts';

const NOON = Date.UTC(2026, 0, 1, 12);
const STAYS = ['FAILED_PRECONDITION', expect.stringContaining('the source and the target may be one file; it stays')];
const signal = new AbortController().signal;

const driverOf = (name: string, view: StorageDriver) =>
  defineDriver({
    name,
    label: name,
    internal: true,
    config: { local_sort: true, only_proxy: true },
    configSchema: z.object({}),
    open: async () => view,
  });

/** Storages at `/from` and `/to`, with files that a test puts below them. */
async function openPair(from: StorageDriver, to: StorageDriver): Promise<MemoryTree> {
  return openTree({
    drivers: [driverOf('From', from), driverOf('To', to)],
    storages: [
      { mount_path: '/from', driver: 'From' },
      { mount_path: '/to', driver: 'To' },
    ],
  });
}

const put = (driver: MemoryDriver, path: string, text: string, ms: number) =>
  driver.write(mpath(path), bytesOf(text), { overwrite: true, modifiedAt: new Date(ms) });
const filesOf = async (driver: MemoryDriver) => {
  const names = await Array.fromAsync(driver.list(mpath('/d')));
  return names.map(({ name }) => name).toSorted();
};

const [EXACT, COARSE, SILENT] = [1, 1_000, undefined];
const GRIDS = [
  [EXACT, EXACT],
  [EXACT, COARSE],
  [COARSE, EXACT],
  [SILENT, EXACT],
  [EXACT, SILENT],
  [SILENT, SILENT],
] as const;

describe.each(GRIDS)('two storages that show one folder, with times of %s and %s ms', (fromMs, toMs) => {
  const open = async () => {
    const disk = new MemoryDriver();
    for (const [index, name] of ['one', 'two'].entries()) await put(disk, `/d/${name}`, name, NOON + 123 + index * 60_000);
    return { disk, tree: await openPair(coarseView(disk, fromMs), coarseView(disk, toMs)) };
  };
  const expectWhole = async (disk: MemoryDriver, tree: MemoryTree) => {
    expect(await filesOf(disk)).toEqual(['one', 'two']);
    for (const name of ['one', 'two']) expect(await tree.textOf(`/from/d/${name}`)).toBe(name);
  };

  it('keep both files of a move over each other', async () => {
    const { disk, tree } = await open();
    const request = { src_dir: '/from/d', dst_dir: '/to/d', names: ['one', 'two'], overwrite: true, skip_existing: false };
    expect(await refusalOf(moveEntries(tree.operation(), request))).toEqual(STAYS);
    await expectWhole(disk, tree);
    const whole = { ...request, src_dir: '/from', dst_dir: '/to', names: ['d'] };
    expect(await refusalOf(moveEntries(tree.operation(), whole))).toEqual(STAYS);
    await expectWhole(disk, tree);
  });

  it('keep them also where a move takes files out of folders', async () => {
    const { disk, tree } = await open();
    expect(await refusalOf(flatten(tree.operation(), { src_dir: '/from/d', dst_dir: '/to/d', conflict_policy: 'overwrite' }))).toEqual(
      STAYS,
    );
    await expectWhole(disk, tree);
  });

  it.each(['replace', 'keep', 'refuse'] as const)('keep them where another worker goes on with the move: %s', async (conflict) => {
    const { disk, tree } = await open();
    const input: PlacementInput = { source: '/from/d', target: '/to/d', sourceStorage: 1, targetStorage: 2, conflict };
    const run = createTestRun({ signal });
    run.onCheckpoint(() => {
      if (run.checkpoints() === 2) run.lose();
    });
    await refusalOf(runPlacement(tree.operation(), 'move', input, run));
    await runPlacement(tree.operation(), 'move', input, run).catch(() => undefined);
    await expectWhole(disk, tree);
  });
});

describe('a move over files of another folder', () => {
  const request = { src_dir: '/from/d', dst_dir: '/to/d', names: ['one'], overwrite: true, skip_existing: false };
  const open = async (fromMs: number | undefined, toMs: number | undefined) => {
    const [source, target] = [new MemoryDriver(), new MemoryDriver()];
    await put(source, '/d/one', 'new', NOON + 123);
    await put(target, '/d/one', 'old', NOON + 60_000);
    return { source, target, tree: await openPair(coarseView(source, fromMs), coarseView(target, toMs)) };
  };

  it.each(GRIDS)('replaces them, with times of %s and %s ms, and leaves nothing else', async (fromMs, toMs) => {
    const { source, target, tree } = await open(fromMs, toMs);
    await moveEntries(tree.operation(), request);
    expect(await tree.textOf('/to/d/one')).toBe('new');
    expect(await filesOf(source)).toEqual([]);
    expect(await filesOf(target)).toEqual(['one']);
  });

  it('leaves the source where the folders have become one since it was copied', async () => {
    const { source, target } = await open(COARSE, EXACT);
    let shown = target;
    // As a link that leads elsewhere from now on.
    const turning = new Proxy(target, {
      get(_, key) {
        const value = Reflect.get(shown, key, shown);
        if (key !== 'write') return typeof value === 'function' ? value.bind(shown) : value;
        return async (...given: Parameters<MemoryDriver['write']>) => {
          const written = await shown.write(...given);
          if (given[0] === '/d/one') shown = source;
          return written;
        };
      },
    });
    const tree = await openPair(coarseView(source, COARSE), coarseView(turning, EXACT));
    expect((await refusalOf(moveEntries(tree.operation(), request)))[0]).toBe('CONTENT_CORRUPT');
    expect(await filesOf(source)).toEqual(['one']);
  });
});

it('looks at what is replaced wait for their turn as the copies do', async () => {
  const [from, to, noted] = [new MemoryDriver(), new MemoryDriver(), [] as NotedCall[]];
  await put(from, '/d/one', 'new', NOON);
  await put(to, '/d/one', 'older', NOON - 60_000);
  const tree = await openPair(from, noteCalls(to, noted));
  await runPlacement(tree.operation(), 'move', {
    source: '/from/d',
    target: '/to/d',
    sourceStorage: 1,
    targetStorage: 2,
    conflict: 'replace',
  });
  expect(await tree.textOf('/to/d/one')).toBe('new');
  const looks = noted.slice(0, noted.findIndex(({ operation, path }) => operation === 'write' && path === '/d/one') + 1);
  expect(looks.map(({ operation }) => operation)).toEqual(expect.arrayContaining(['stat', 'write', 'remove']));
  // What was made for a look is taken away at once, or not at all.
  expect(looks.filter(({ operation, isPatient }) => operation !== 'remove' && !isPatient)).toEqual([]);
});

it('contents that are compared wait for their turn where whoever compares them does', async () => {
  const [disk, noted] = [new MemoryDriver(), [] as NotedCall[]];
  for (const name of ['one', 'two']) await put(disk, `/d/${name}`, 'same', NOON);
  const placeOf = (path: string) => ({ driver: noteCalls(disk, noted), path: mpath(path) });
  expect(await haveSameContent(placeOf('/d/one'), placeOf('/d/two'), { signal, isPatient: true })).toBe(true);
  expect(noted).toMatchObject([
    { operation: 'read', isPatient: true },
    { operation: 'read', isPatient: true },
  ]);
});
