import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { isAvailable, makeTempDir, type RunningProcess, startNatsServer, startProcess, type TempDir, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TASK_STATE } from '../src/index.ts';
import { type Installation, openInstallation } from './installation.ts';
import { writing } from './writing-kind.ts';

/** A store under a long queue. */
export interface QueueStore {
  readonly url: string;
  restart?(): Promise<void>;
  /** Documents that it has read since it was started. */
  documentsRead?(): Promise<number>;
}

const PROCESSES = 5;
/** One user may have 10,000 open tasks. */
const TASKS_OF_A_USER = 5_000;
const ADDED_AT_A_TIME = 1_000;
/**
 * Documents that the store may read for each task: it is taken and ended, each process looks for more each second, and once a minute counts the 10,000
 * that are kept and puts the others away. To go through the queue would take thousands.
 */
const MOST_READ_PER_TASK = 30;

const WORKER = fileURLToPath(new URL('./queue-worker.ts', import.meta.url));
const nats = await startNatsServer();

/** So many tasks, worked off by 20 workers in 5 processes. */
export function describeLongQueue(name: string, tasks: number, openStore: () => Promise<QueueStore>): void {
  describe.runIf(isAvailable('nats-server', nats))(`a queue of ${tasks} tasks on ${name}`, () => {
    if (!('url' in nats)) return;
    const busUrl = nats.url.replace('nats://', `nats://${nats.token}@`);
    const withinMs = 120_000 + 20 * tasks;
    let dir: TempDir;
    let store: QueueStore;
    let place: Installation;
    let workers: readonly RunningProcess<true>[] = [];
    beforeAll(async () => {
      dir = await makeTempDir('long-queue');
      store = await openStore();
      place = await openInstallation(store.url);
    }, 120_000);
    afterAll(async () => {
      await Promise.all(workers.map((worker) => worker.stop()));
      await place?.close();
      await nats.stop();
      await dir?.remove();
    });

    const fileOf = (index: number) => `${dir.path}/worker-${index}`;
    const startWorker = (index: number) =>
      startProcess<true>({
        name: 'worker',
        command: process.execPath,
        args: ['--disable-warning=ExperimentalWarning', WORKER, place.url, busUrl, fileOf(index)],
        ready: { line: (line) => (line === 'ready' ? true : undefined) },
      });
    /** The numbers of all tasks that ran, each as often as it did. */
    const ran = async (): Promise<number[]> => {
      const texts = await Promise.all(workers.map((_, index) => readFile(fileOf(index), 'utf8').catch(() => '')));
      return texts.flatMap((text) => text.split('\n').filter(Boolean).map(Number));
    };
    const until = (what: string, holds: () => Promise<boolean>) =>
      waitFor(what, async () => (await holds()) || undefined, { withinMs, everyMs: 250 });
    const untilRan = (share: number) => until(`${share} of all tasks`, async () => (await ran()).length >= Math.floor(share * tasks));
    const restart = () => Promise.all([store.restart?.(), nats.restart()]);

    /** Documents that are read for each task while these run. @param share of all that are done at the end */
    async function costUntil(share: number): Promise<number> {
      const [before, from] = [(await ran()).length, (await store.documentsRead?.()) ?? 0];
      await untilRan(share);
      // On a quick machine all of them may have run before.
      return (((await store.documentsRead?.()) ?? 0) - from) / Math.max(1, (await ran()).length - before);
    }

    async function queueAll(): Promise<void> {
      const kind = writing(async () => undefined);
      const engine = await place.open([kind], { tasksOfAll: tasks });
      await engine.stop();
      const users = Math.ceil(tasks / TASKS_OF_A_USER) + 1;
      for (let first = 0; first < tasks; first += ADDED_AT_A_TIME)
        await engine.addAll(
          kind,
          Array.from({ length: Math.min(ADDED_AT_A_TIME, tasks - first) }, (_, index) => ({
            name: 'write',
            creator: { id: 10 + ((first + index) % users), name: 'user', role: 0 },
            input: { number: first + index },
          })),
        );
    }

    it(
      'runs each once, at a cost that does not depend on its length, while store and bus are restarted twice',
      async () => {
        await queueAll();
        workers = await Promise.all(Array.from({ length: PROCESSES }, (_, index) => startWorker(index)));
        const costs = [await costUntil(0.2)];
        await restart();
        await untilRan(0.5);
        await restart();
        await untilRan(0.7);
        costs.push(await costUntil(0.9));
        await until('the end of all', async () => (await place.models.tasks.countDocuments({ done: false })) === 0);
        expect((await ran()).toSorted((one, other) => one - other)).toEqual(Array.from({ length: tasks }, (_, number) => number));
        expect(await place.models.tasks.countDocuments({ state: { $ne: TASK_STATE.succeeded } })).toBe(0);
        for (const cost of costs) expect(cost).toBeLessThan(MOST_READ_PER_TASK);
      },
      2 * withinMs,
    );
  });
}
