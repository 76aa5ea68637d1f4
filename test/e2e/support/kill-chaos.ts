import { randomInt } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { at, startServices, startStandalone, waitFor } from '@wharf/harness';
import { clientOf } from './acknowledged.ts';
import { killSubjects } from './kill-subjects.ts';
import { dataOf } from './people.ts';
import { descendantsOf } from './process-memory.ts';
import { startSourceServer } from './source-server.ts';
import { openWorld, type World } from './world.ts';

export interface KillOptions {
  readonly shape: 'standalone' | 'services';
  readonly kills: number;
  readonly tell: (text: string) => void;
}

export interface KillReport {
  readonly kills: number;
  /** Changes that were acknowledged, by what was changed. */
  readonly acknowledged: Readonly<Record<string, number>>;
  /** What was lost, came by half or was refused, with the kill before it. */
  readonly faults: readonly string[];
  /** What was left on the way, with the kill that left it. */
  readonly debris: readonly string[];
}

/** What was on its way is gone so long after a restart, or after the end of the last task that uses it, in milliseconds. */
const CLEARED_WITHIN_MS = 10_000;
const TASKS_WITHIN_MS = 120_000;
/** A kill comes at any moment of this time after each client has changed something, in milliseconds. */
const LONGEST_LOAD_MS = 2_000;
const LOAD_WITHIN_MS = 60_000;
/** Of the log of a Wharf that did not do what was waited for, in characters. */
const LOG_SHOWN = 4_000;
const TASK_LISTS = ['upload', 'copy', 'move', 'offline_download', 'offline_download_transfer'];

/**
 * Kills a Wharf again and again while everything is written that it holds, and looks each time at what was acknowledged. Of services every other
 * kill is of one process, whose end ends the others.
 */
export async function runKillChaos({ shape, kills, tell }: KillOptions): Promise<KillReport> {
  const source = await startSourceServer();
  source.bytesPerSecond = 2_000_000;
  const world = await openWorld(shape === 'standalone' ? startStandalone : startServices, { env: { WHARF_EGRESS_ALLOW: '127.0.0.1' } });
  const { wharf, admin } = world;
  const faults: string[] = [];
  const debris: string[] = [];
  try {
    const other = { path: '/other', disk: join(world.outside, 'other') };
    await Promise.all([other.disk, join(world.outside, 'spare')].map((folder) => mkdir(folder)));
    const addition = JSON.stringify({ root_folder_path: other.disk, thumbnail: false });
    await admin.call('/api/admin/storage/create', { mount_path: other.path, driver: 'Local', addition });
    const clients = (await killSubjects(world, other, source)).map(clientOf);
    for (let kill = 1; kill <= kills; kill++) {
      let isKilled = false;
      const work = clients.map(async (client) => {
        while (!isKilled)
          await client.step().catch((error: Error) => {
            if (isKilled) return;
            const fault = `before kill ${kill}: ${client.kind}: ${error.message}`;
            tell(fault);
            faults.push(fault);
            isKilled = true;
          });
      });
      const before = clients.map((client) => client.acknowledged());
      const isAtWork = () => isKilled || clients.every((client, index) => client.acknowledged() > (before[index] ?? 0));
      await waitFor('each client to change something', isAtWork, { withinMs: LOAD_WITHIN_MS });
      await delay(randomInt(LONGEST_LOAD_MS));
      isKilled = true;
      if (shape === 'services' && kill % 2 === 0) {
        const family = await descendantsOf(wharf.pid);
        process.kill(family[(kill / 2) % family.length] ?? wharf.pid, 'SIGKILL');
      } else await wharf.kill();
      await Promise.all(work);
      await wharf.restart();
      const restartedAt = performance.now();
      await waitFor('all tasks to end', async () => (await undone(world)) === 0, { withinMs: TASKS_WITHIN_MS, everyMs: 100 });
      const withinMs = Math.max(CLEARED_WITHIN_MS / 2, restartedAt + CLEARED_WITHIN_MS - performance.now());
      for (const client of clients)
        for (const fault of await client.verify()) {
          tell(`kill ${kill}: ${fault}`);
          faults.push(`kill ${kill}: ${fault}`);
        }
      let left: string[] = [];
      await waitFor(
        'nothing to be left',
        async () => {
          left = await leftOvers(world, other.disk);
          return left.length === 0;
        },
        { withinMs, everyMs: 100 },
      ).catch(() => debris.push(...left.map((path) => `kill ${kill}: ${path}`)));
      const sum = clients.reduce((total, client) => total + client.acknowledged(), 0);
      tell(`kill ${kill} of ${kills}: ${sum} changes acknowledged, ${faults.length} faults, ${debris.length} left over`);
    }
    faults.push(...(await failedTasks(world)));
    return { kills, acknowledged: Object.fromEntries(clients.map((client) => [client.kind, client.acknowledged()])), faults, debris };
  } catch (error) {
    // Why it stopped says more than how its Wharf ended.
    tell(`${inspect(error)}\n${wharf.log().slice(-LOG_SHOWN)}`);
    throw error;
  } finally {
    await source.close();
    // What was found before is not lost over how its Wharf ended.
    await world.close().catch((error) => faults.push(String(error)));
  }
}

async function tasksOf({ admin }: World, state: 'done' | 'undone'): Promise<unknown[]> {
  const lists = await Promise.all(TASK_LISTS.map((list) => dataOf(admin, `/api/task/${list}/${state}`)));
  return lists.flatMap((list) => (Array.isArray(list) ? list : []));
}

const undone = async (world: World) => (await tasksOf(world, 'undone')).length;

async function failedTasks(world: World): Promise<string[]> {
  const tasks = await tasksOf(world, 'done');
  return tasks
    .filter((task) => at(task, 'state') !== 2)
    .map((task) => `task ${at(task, 'name')}: ${at(task, 'status')} ${at(task, 'error')}`);
}

/** What was on its way: below the storages' temporary names, and in the folders that are for what is unfinished. */
async function leftOvers({ wharf }: World, other: string): Promise<string[]> {
  const names = async (folder: string) => (await readdir(folder, { recursive: true }).catch(() => [])).map((name) => join(folder, name));
  const inStorages = (await Promise.all([wharf.filesDir, other].map(names))).flat().filter((path) => /\.wharf|\.renaming-/.test(path));
  const unfinished = await Promise.all(['scratch', 'downloads', 'uploads'].map((name) => names(join(wharf.dataDir, name))));
  // The folder of uploads that wait keeps its id.
  return [...inStorages, ...unfinished.flat()].filter((path) => basename(path) !== 'id');
}
