import { AppError } from '@wharf/errors';
import type { MountPath } from '@wharf/paths';
import { postponedMs } from '@wharf/task-engine';
import { expect, it } from 'vitest';
import { bytesOf, openTree } from '../domain/testing/memory-tree.ts';
import { createTestDriver } from '../domain/testing/test-drivers.ts';
import { runPlacement, runRemoval } from './testing/place-now.ts';
import { createTestRun, type TestRun } from './testing/test-run.ts';
import { untilOpen } from './until-open.ts';

it.each(['copy', 'move', 'remove', 'tidy'] as const)(
  'a %s waits for its storage, which is not open yet, and is done when it is',
  async (verb) => {
    let isAway = true;
    let nowMs = 0;
    const driver = createTestDriver('Late');
    driver.onOpen(async () => {
      if (isAway) throw new AppError('STORAGE_UNAVAILABLE', 'away');
    });
    await driver.storeOf().write('/file' as MountPath, bytesOf('text'), { overwrite: false });
    const memory = await openTree({
      storages: [{ mount_path: '/late', driver: 'Late' }, { mount_path: '/b' }],
      drivers: [driver.definition],
      clock: () => nowMs,
    });
    const paths = { source: '/late/file', target: '/b/file', sourceStorage: 1, targetStorage: 2, conflict: 'refuse' } as const;
    if (verb === 'tidy') await driver.storeOf().makeDirectory('/empty' as MountPath);
    const work = (run: TestRun) => {
      if (verb === 'tidy') return runRemoval(memory.operation(), { emptyBelow: '/late' }, run);
      if (verb === 'remove') return runRemoval(memory.operation(), { folder: '/late', names: ['file'], storage: 1 }, run);
      return runPlacement(memory.operation(), verb, paths, run);
    };
    const run = createTestRun({ signal: new AbortController().signal });
    for (const pauseMs of [1_000, 2_000, 4_000]) expect(await work(run).catch(postponedMs)).toBe(pauseMs);
    isAway = false;
    nowMs += 60_000;
    await work(run);
    expect(await memory.everything('/')).toEqual(
      { copy: ['/b/file', '/late/file'], move: ['/b/file'], remove: [], tidy: ['/late/file'] }[verb],
    );
  },
);

it('a task waits for half an hour, and for nothing that will not change', async () => {
  const away = () => Promise.reject(new AppError('STORAGE_UNAVAILABLE', 'away'));
  const pauses = await Promise.all(Array.from({ length: 36 }, (_, index) => untilOpen({ attempt: index + 1 }, away).catch(postponedMs)));
  expect(pauses.pop()).toBeUndefined();
  expect(pauses.reduce<number>((sum, pause) => sum + (pause ?? 0), 0)).toBeCloseTo(30 * 60_000, -5);
  const gone = new AppError('MOUNT_NOT_FOUND', 'gone');
  await expect(untilOpen({ attempt: 1 }, () => Promise.reject(gone))).rejects.toBe(gone);
});
