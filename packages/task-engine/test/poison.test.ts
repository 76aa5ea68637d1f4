import { NO_TRACING } from '@wharf/service-kit';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTaskKind, TASK_STATE } from '../src/index.ts';
import { createRawRuns } from '../src/raw-run.ts';
import { startRun } from '../src/run-task.ts';
import { holdTask } from '../src/task-hold.ts';
import { LEASE_MS } from '../src/task-lease.ts';
import { createTaskQueue } from '../src/task-queue.ts';
import { ANN, type Installation, openOwnInstallation } from './installation.ts';

let place: Installation;
beforeAll(async () => {
  place = await openOwnInstallation('poison');
});
afterAll(() => place?.close());

const logger = pino({ enabled: false });
let ended: string[] = [];
const kind = defineTaskKind({
  name: 'poison',
  input: z.object({}),
  checkpoint: z.object({ draft: z.number() }),
  maxRetries: 0,
  run: async () => {},
  onEnd: async (outcome) => {
    ended.push(outcome);
  },
});

/** A queue with one task, and workers that die when they have noted what they are about to do. */
async function openQueue() {
  await place.models.tasks.deleteMany();
  let nowMs = Date.now();
  const clock = { now: () => new Date(nowMs), sync: async () => {} };
  const queue = createTaskQueue(place.models, clock);
  const engine = await place.open([kind], { concurrencyOf: async () => 1, limitOfKey: () => 0 });
  await engine.stop();
  const [task] = await engine.addAll(kind, [{ name: 'a', creator: ANN, input: {} }]);
  nowMs += LEASE_MS;
  const id = task?._id ?? '';
  const dies = async () => {
    nowMs += LEASE_MS + 1;
    await queue.reap(true);
    return place.read(id);
  };
  return {
    queue,
    dies,
    async takeAndDie(isProgress: boolean) {
      const record = await queue.claim('poison', { keys: [], creators: [] }, 'a worker');
      if (!record) throw new Error('nothing waits');
      const hold = holdTask(queue, record, logger, () => {});
      await createRawRuns(queue, hold, logger)
        .begin(hold.work)
        .saveCheckpoint(JSON.stringify({ draft: record.fence }), isProgress);
      hold.release();
      return dies();
    },
  };
}

it('a task that five workers in a row were lost over fails and says so, whatever each of them noted before', async () => {
  const { takeAndDie, queue } = await openQueue();
  for (let losses = 1; losses < 5; losses += 1)
    expect(await takeAndDie(false)).toMatchObject({ state: TASK_STATE.pending, waiting: true, losses });
  const failing = { state: TASK_STATE.failing, waiting: false, worker: '', error: 'every worker that took this task ended over it' };
  expect(await takeAndDie(false)).toMatchObject(failing);
  expect(await queue.claim('poison', { keys: [], creators: [] }, 'another worker')).toBeUndefined();
});

it('a task that makes progress goes on, however many workers are lost', async () => {
  const { takeAndDie } = await openQueue();
  for (let count = 0; count < 12; count += 1)
    expect(await takeAndDie(true)).toMatchObject({ state: TASK_STATE.pending, waiting: true, losses: 1 });
});

it('putting a task away is given up when five workers were lost over it', async () => {
  ended = [];
  const { takeAndDie, queue, dies } = await openQueue();
  for (let count = 0; count < 5; count += 1) await takeAndDie(false);
  for (let losses = 1; losses <= 5; losses += 1) {
    expect(await queue.claimCleanup(['poison'], 'a worker', [])).toBeDefined();
    expect(await dies()).toMatchObject({ state: TASK_STATE.failing, worker: '', losses });
  }
  const record = await queue.claimCleanup(['poison'], 'the last worker', []);
  if (!record) throw new Error('nothing to put away');
  await startRun({ queue, kind, logger, tracing: NO_TRACING, onChange: () => {}, onStored: () => {}, onAttempt: () => {} }, record).ended;
  expect(ended).toEqual([]);
  expect(await place.read(record._id)).toMatchObject({ state: TASK_STATE.failed, done: true });
});
