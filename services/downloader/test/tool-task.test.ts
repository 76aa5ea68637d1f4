import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createEgressPolicy, createGuardedClient } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { ROLE } from '@wharf/rights';
import { seal } from '@wharf/service-kit';
import { postponedMs } from '@wharf/task-engine';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { downloadInput } from '../src/domain/download-input.ts';
import { createToolTasks, type SavedTool } from '../src/tasks/tool-task.ts';
import type { ExternalTool } from '../src/tools/external-tool.ts';
import { toolFolder } from '../src/tools/tool-folder.ts';

let dir: TempDir;
beforeEach(async () => {
  dir = await makeTempDir('tool-task');
});
afterEach(() => dir.remove());

/**
 * A task of a tool that has finished whatever it is given, and what the task leaves for the next run.
 *
 * @param choosesIds the tool takes ids of ours
 */
function openDownload(choosesIds = true, seedMinutes = 0) {
  const atRest = randomBytes(32);
  /** By id, the folder. */
  const known = new Map<string, string>();
  const queued: string[] = [];
  /** What was taken out of the tool. */
  const forgotten: string[] = [];
  /** What was said of seeds. */
  const seeding: string[] = [];
  const removals: (Date | undefined)[] = [];
  let onQueue = async () => {};
  let onAdd = async () => {};
  let onBegin = async () => {};
  let onAssert = async () => {};
  let lastId = 0;
  let isConfigured = true;
  let isGoing = false;
  const forget = (id: string, deletesFiles = false) => {
    known.delete(id);
    forgotten.push(deletesFiles ? `${id} with its files` : id);
  };
  const tool: ExternalTool = {
    name: 'aria2',
    kinds: new Set(['magnet'] as const),
    needsReplica: false,
    newId() {
      lastId += 1;
      return choosesIds ? `id-${lastId}` : undefined;
    },
    async add(_source, folder, _signal, id = `own-${lastId}`) {
      known.set(id, folder);
      await onAdd();
      return id;
    },
    find: async (id, folder) =>
      known.get(id) === folder ? { state: 'complete', doneBytes: 1, totalBytes: 1, detail: '', error: '' } : undefined,
    pause: async () => {},
    resume: async () => {},
    async remove(id, folder, _signal, deletesFiles) {
      if (known.get(id) === folder) forget(id, deletesFiles);
    },
    async removeFrom(folder, _signal, deletesFiles) {
      for (const [id, place] of known) if (place === folder) forget(id, deletesFiles);
    },
    version: async () => '',
  };
  const policy = createEgressPolicy({ allow: [], forbidden: [], audience: 'user' });
  const tasksIn = (toolsDir: string) =>
    createToolTasks({
      kit: { keys: { atRest }, clock: Date.now },
      tools: {
        get: async () => {
          if (!isConfigured) throw new AppError('INVALID_ARGUMENT', 'the address must start with http:// or https://');
          return tool;
        },
        settingsOf: () => Promise.reject(new Error('nobody asks')),
        requireReady: async () => {},
        readyNames: async () => [],
        seedMinutes: async () => seedMinutes,
      },
      working: { require: async () => {}, notWorking: () => [] },
      seeds: {
        init: async () => {},
        async add({ toolId, removeAt }) {
          seeding.push(`add ${toolId}`);
          removals.push(removeAt);
        },
        giveUp: async ({ toolId }) => void seeding.push(`give up ${toolId}`),
        async takeBack(taskId) {
          seeding.push(`take back ${taskId}`);
          return !isGoing;
        },
        beginRemoval: async () => true,
        isAsTaken: async () => true,
        endNow: async (taskId) => void seeding.push(`end ${taskId}`),
        leaveFile: async () => false,
        takeDue: async () => undefined,
        postpone: async () => {},
        end: async () => true,
      },
      toolsDir,
      openNetwork: () => ({ policy, client: createGuardedClient(policy, { maxConnections: 1 }), headersTimeoutMs: 1_000 }),
      async queueTransfers(_run, transfers) {
        await onQueue();
        queued.push(...transfers.map(({ name }) => name));
      },
      requireTransferred: () => onBegin(),
      keepReserve: async () => {},
      pause: async <T>(_ms?: number, value?: T) => value as T,
      onBytes: () => {},
      endMs: 50,
    });
  let tasks = tasksIn(dir.path);
  const stopped = new AbortController();
  const run = {
    id: 'task-1',
    input: downloadInput.parse({
      ...{ url: seal(atRest, `magnet:?xt=urn:btih:${'a'.repeat(40)}`), tool: 'aria2', deletePolicy: 'delete_never' },
      ...{ directory: '/in', mountPath: '/', innerPath: '/in' },
    }),
    creator: { id: 1, name: 'admin', role: ROLE.admin },
    signal: stopped.signal,
    logger: pino({ enabled: false }),
    progress() {},
    assertLease: () => onAssert(),
  };
  let saved: SavedTool | undefined;
  return {
    stop: () => stopped.abort(new AppError('CANCELLED', 'this worker stops')),
    known,
    queued,
    forgotten,
    seeding,
    /** When what was left in the tool is to go. */
    removals,
    tool,
    saved: () => saved,
    folder: toolFolder(dir.path, 'aria2', 'task-1').path,
    duringAdd(run: () => Promise<void>) {
      onAdd = run;
    },
    beforeBegin(run: () => Promise<void>) {
      onBegin = run;
    },
    beforeQueue(run: () => Promise<void>) {
      onQueue = run;
    },
    /** As after a start with another WHARF_TOOLS_DIR. @returns where the folder of the task is from now on */
    moveTo(root: string) {
      tasks = tasksIn(root);
      return toolFolder(root, 'aria2', 'task-1').path;
    },
    /** What an earlier attempt left is being removed, or is no more. */
    removing(isSo: boolean) {
      isGoing = isSo;
    },
    /** Somebody else has the task, and this run was not told yet. */
    lose() {
      onAssert = () => Promise.reject(new AppError('CANCELLED', 'another worker has this task'));
    },
    takeOutOfSettings() {
      isConfigured = false;
    },
    run: () =>
      tasks.run(run, saved, async (state) => {
        saved = state;
      }),
    drop: () =>
      tasks.drop(run, saved, async () => {
        saved = undefined;
      }),
  };
}

it('who dies before the tool answers leaves the id, by which the next one finds the download', async () => {
  const { known, queued, duringAdd, run, folder, saved } = openDownload();
  const isAdded = Promise.withResolvers<void>();
  duringAdd(() => {
    isAdded.resolve();
    // Whoever waits for ever is dead, for all that anybody sees.
    return new Promise(() => {});
  });
  void run();
  await isAdded.promise;
  expect(saved()).toMatchObject({ toolId: 'id-1', isFinished: false, isHandedOver: false });
  await writeFile(join(folder, 'film'), 'a film');
  await run();
  expect([queued, [...known.keys()]]).toEqual([['film'], []]);
});

it.each([
  ['by an id of ours', true, 'id-1'],
  ['by its folder', false, 'own-1'],
])('who gives up takes back a download of which it never heard, %s, and nothing of others', async (_, choosesIds, id) => {
  const { known, duringAdd, run, drop } = openDownload(choosesIds);
  known.set('of others', '/elsewhere');
  duringAdd(() => Promise.reject(new Error('the connection broke')));
  await expect(run()).rejects.toThrow('the connection broke');
  expect([...known.keys()]).toEqual(['of others', id]);
  await drop();
  expect([...known.keys()]).toEqual(['of others']);
});

/** Answers at last with the reason of the signal. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(AppError.from(signal.reason)), { once: true }));

it('a tool that answers ever so slowly is told later that a download has ended, and the place for that is free', async () => {
  const { tool, duringAdd, run, drop, seeding } = openDownload();
  duringAdd(() => Promise.reject(new Error('the connection broke')));
  await expect(run()).rejects.toThrow('the connection broke');
  tool.remove = (_id, _directory, signal) => untilAborted(signal);
  await drop();
  expect(seeding).toEqual(['give up id-1']);
});

it('who loses a download while its tool is told of the end leaves it to whoever has it by then', async () => {
  const { tool, duringAdd, run, drop, seeding, stop } = openDownload();
  duringAdd(() => Promise.reject(new Error('the connection broke')));
  await expect(run()).rejects.toThrow('the connection broke');
  tool.remove = () => {
    stop();
    return Promise.reject(new AppError('DEADLINE_EXCEEDED', 'no answer within 4 s'));
  };
  await expect(drop()).rejects.toThrow('this worker stops');
  expect(seeding).toEqual([]);
});

it('who has lost a download, and was not told yet, leaves its folder to whoever has it by then', async () => {
  const { duringAdd, run, drop, folder, lose } = openDownload();
  duringAdd(() => Promise.reject(new Error('the connection broke')));
  await expect(run()).rejects.toThrow('the connection broke');
  await writeFile(join(folder, 'film'), 'of another attempt');
  lose();
  await expect(drop()).rejects.toThrow('another worker has this task');
  expect(await readdir(folder)).toEqual(['film']);
});

it('a download waits while its tool does not let us in any more, and one that is not begun fails', async () => {
  const { tool, queued, run, folder, saved } = openDownload();
  const { find } = tool;
  const refuse = () => Promise.reject(new AppError('STORAGE_LOGIN_FAILED', 'the user or the password is wrong'));
  Object.assign(tool, { requireNew: refuse });
  await expect(run()).rejects.toMatchObject({ code: 'STORAGE_LOGIN_FAILED' });
  Object.assign(tool, { requireNew: undefined, find: refuse });
  const waiting = await run().catch((error) => error);
  expect([postponedMs(waiting), waiting.message]).toEqual([30_000, 'aria2 refuses: the user or the password is wrong']);
  expect(saved()).toMatchObject({ toolId: 'id-1' });
  Object.assign(tool, { find });
  await writeFile(join(folder, 'film'), 'a film');
  await run();
  expect(queued).toEqual(['film']);
});

it.each(['goes on with', 'gives up'])('who %s a download of another WHARF_TOOLS_DIR takes it out there', async (what) => {
  const { known, queued, duringAdd, run, drop, folder, moveTo } = openDownload(false);
  duringAdd(() => Promise.reject(new Error('the connection broke')));
  await expect(run()).rejects.toThrow('the connection broke');
  expect([...known.values()]).toEqual([folder]);
  const moved = moveTo(join(dir.path, 'new'));
  if (what === 'gives up') await drop();
  else {
    duringAdd(() => writeFile(join(moved, 'film'), 'a film'));
    await run();
  }
  expect([...known.values()]).toEqual([]);
  expect(queued).toEqual(what === 'gives up' ? [] : ['film']);
  expect(await readdir(join(dir.path, 'aria2'))).toEqual([]);
});

it('a download goes on where WHARF_TOOLS_DIR is the same folder, written otherwise', async () => {
  const { tool, queued, duringAdd, run, folder, moveTo } = openDownload();
  const removed: string[] = [];
  const { remove } = tool;
  tool.remove = (id, directory, signal) => {
    removed.push(id);
    return remove(id, directory, signal);
  };
  duringAdd(() => Promise.reject(new Error('the connection broke')));
  await expect(run()).rejects.toThrow('the connection broke');
  moveTo(`${dir.path}/`);
  await writeFile(join(folder, 'film'), 'a film');
  await run();
  // Once, as it is complete.
  expect([queued, removed]).toEqual([['film'], ['id-1']]);
});

it('who cannot take out what is complete has it transferred, and taken out later', async () => {
  const { duringAdd, run, queued, seeding, tool, folder } = openDownload();
  duringAdd(() => writeFile(join(folder, 'film'), 'a film'));
  tool.remove = () => Promise.reject(new AppError('DEADLINE_EXCEEDED', 'no answer within 4 s'));
  await run();
  expect([queued, seeding]).toEqual([['film'], ['add id-1']]);
});

it('who gives up a download whose tool is in the settings no more leaves it for when it is again', async () => {
  const { duringAdd, run, drop, seeding, takeOutOfSettings } = openDownload();
  duringAdd(() => Promise.reject(new Error('the connection broke')));
  await expect(run()).rejects.toThrow('the connection broke');
  takeOutOfSettings();
  await drop();
  expect(seeding).toEqual(['give up id-1']);
});

it('who finds that the tool has removed the folder itself says so', async () => {
  const { duringAdd, run, folder } = openDownload();
  duringAdd(() => rm(folder, { recursive: true }));
  await expect(run()).rejects.toThrow('its files are not in the folder');
});

it('a tool keeps what it has until its files are found, and what is given up goes from there with them', async () => {
  const { duringAdd, run, drop, folder, forgotten, known, queued } = openDownload();
  await expect(run()).rejects.toThrow('its files are not in the folder');
  expect([...known.keys()]).toEqual(['id-1']);
  await drop();
  duringAdd(() => writeFile(join(folder, 'film'), 'a film'));
  await run();
  expect([forgotten, queued]).toEqual([['id-1 with its files', 'id-2'], ['film']]);
});

it('who finds its results gone, handed over by an earlier run, is done', async () => {
  const { queued, run, folder } = openDownload();
  await mkdir(folder, { recursive: true });
  for (const _attempt of [1, 2]) await expect(run()).rejects.toThrow('its files are not in the folder');
  await writeFile(join(folder, 'film'), 'a film');
  await run();
  await rm(folder, { recursive: true });
  await run();
  expect(queued).toEqual(['film']);
});

it('who finds its results in another WHARF_TOOLS_DIR, and handed over by half, hands them over', async () => {
  const { queued, beforeQueue, run, folder, moveTo } = openDownload();
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'film'), 'a film');
  beforeQueue(() => Promise.reject(new Error('killed')));
  await expect(run()).rejects.toThrow('killed');
  beforeQueue(async () => {});
  moveTo(join(dir.path, 'new'));
  await run();
  expect(queued).toEqual(['film']);
});

it.each([0, 10])('a download whose results wait for room asks nothing of its tool any more, seeding %i minutes', async (minutes) => {
  const { known, queued, seeding, tool, beforeQueue, run, drop, folder } = openDownload(true, minutes);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'film'), 'a film');
  beforeQueue(() => Promise.reject(new Error('no room')));
  await expect(run()).rejects.toThrow('no room');
  expect([[...known.keys()], seeding]).toEqual(minutes === 0 ? [[], []] : [['id-1'], ['add id-1']]);
  // Somebody else has the same torrent there by now, and then the tool is away.
  known.set('id-1', '/elsewhere');
  await expect(run()).rejects.toThrow('no room');
  expect([[...known.keys()], seeding]).toEqual([['id-1'], minutes === 0 ? [] : ['add id-1']]);
  Object.assign(tool, { remove: () => Promise.reject(new Error('away')) });
  beforeQueue(async () => {});
  await run();
  expect(queued).toEqual(['film']);
  await drop();
  expect([[...known.keys()], seeding.at(-1)]).toEqual([['id-1'], 'end task-1']);
});

it('a seed time beyond what a date can be, as an earlier version stored it, is the longest that is taken now', async () => {
  const { queued, removals, run, folder } = openDownload(true, 999_999_999_999_999);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'film'), 'a film');
  await run();
  expect(queued).toEqual(['film']);
  expect(removals.map((date) => date?.toISOString().slice(0, 2))).toEqual(['39']);
});

it('who is refused by the tool before anything is begun leaves nothing to be looked for there', async () => {
  const { tool, run, drop, saved } = openDownload(false);
  const nothing = () => Promise.reject(new Error('nobody asks'));
  Object.assign(tool, { add: nothing, remove: nothing, removeFrom: nothing });
  tool.requireNew = () => Promise.reject(new Error('it is there already'));
  await expect(run()).rejects.toThrow('it is there already');
  expect(saved()).toBeUndefined();
  await drop();
});

it.each([
  ['could not be handed over', 'no room'],
  ['were not found', 'its files are not in the folder'],
])('who tries again what ended when its results %s has them fetched and transferred', async (_, reason) => {
  const { queued, beforeQueue, duringAdd, run, drop, folder } = openDownload();
  const add = () => writeFile(join(folder, 'film'), 'a film');
  if (reason === 'no room') duringAdd(add);
  beforeQueue(() => Promise.reject(new Error('no room')));
  await expect(run()).rejects.toThrow(reason);
  await drop();
  duringAdd(add);
  beforeQueue(async () => {});
  await run();
  expect(queued).toEqual(['film']);
});

it('who gives up a download that waits for its transfers of the time before leaves their files', async () => {
  const { beforeBegin, run, drop, folder } = openDownload();
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'film'), 'a film');
  beforeBegin(() => Promise.reject(new Error('waits')));
  await expect(run()).rejects.toThrow('waits');
  await drop();
  expect(await readdir(folder)).toEqual(['film']);
});

it.each([
  ['while it is fetched', false],
  ['when all of it is there', true],
])('who tries again what ended %s neither follows nor takes out what somebody else has under its id by now', async (_when, isWhole) => {
  const { known, run, drop, tool } = openDownload(false);
  const { find } = tool;
  if (!isWhole) tool.find = () => Promise.reject(new Error('cancelled'));
  await expect(run()).rejects.toThrow(isWhole ? 'its files are not in the folder' : 'cancelled');
  tool.find = find;
  await drop();
  known.set('own-1', '/elsewhere');
  tool.add = () => Promise.reject(new Error('it is there already'));
  await expect(run()).rejects.toThrow('it is there already');
  await drop();
  expect([...known]).toEqual([['own-1', '/elsewhere']]);
});

it.each([
  ['by its id', true, 'id-1'],
  ['whose id nobody heard', false, ''],
])('what ends while its tool is away, %s, is left to be taken out later, unless it is tried again', async (_, choosesIds, toolId) => {
  const { tool, seeding, duringAdd, run, drop, removing, folder } = openDownload(choosesIds);
  duringAdd(() => Promise.reject(new Error('away')));
  const { remove, removeFrom } = tool;
  Object.assign(tool, { remove: () => Promise.reject(new Error('away')), removeFrom: () => Promise.reject(new Error('away')) });
  await expect(run()).rejects.toThrow('away');
  await drop();
  expect(seeding).toEqual([`give up ${toolId}`]);
  expect(await readdir(folder)).toEqual([]);
  Object.assign(tool, { remove, removeFrom });
  duringAdd(async () => {});
  await writeFile(join(folder, 'film'), 'a film');
  // While its folder is being removed nothing is begun in it.
  removing(true);
  expect(await run().catch(postponedMs)).toBeGreaterThan(0);
  removing(false);
  await run();
  expect(seeding.at(-1)).toBe('take back task-1');
});
