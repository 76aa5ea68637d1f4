import { makeIndexes, type TaskRecord } from '@wharf/models';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createHousekeeping } from '../src/housekeeping.ts';
import { TASK_STATE } from '../src/task-state.ts';
import { documentsRead } from './documents-read.ts';
import { type Installation, openOwnInstallation } from './installation.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const DAY_MS = 86_400_000;
const clock = { now: () => NOW, sync: async () => {} };
const before = (ms: number) => new Date(NOW.getTime() - ms);

let place: Installation;
beforeEach(async () => {
  place = await openOwnInstallation('housekeeping');
});
afterEach(() => place?.close());

/** Writes a task as it ended, or did not, so many milliseconds ago. */
async function write(id: string, ageMs: number, rest: Partial<TaskRecord>): Promise<void> {
  const at = before(ageMs);
  const done = { done: true, state: TASK_STATE.succeeded, end_time: at };
  const times = { run_at: at, created_at: at, updated_at: at, lease_until: at };
  await place.models.tasks.create({ _id: id, kind: 'copy', list: 'copy', ...times, ...done, ...rest });
}

const visible = async () => (await place.models.tasks.find({ forget: false }).sort({ _id: 1 }).lean()).map(({ _id }) => _id);

it('of the tasks that ended the newest are kept, for a month; those that have not ended are kept whatever their age', async () => {
  for (let index = 0; index < 5; index += 1) await write(`done ${index}`, index * 1_000, {});
  await write('waiting', 400 * DAY_MS, { done: false, state: TASK_STATE.pending, end_time: null });
  await write('old', 31 * DAY_MS, {});
  await createHousekeeping(place.models, clock, ['copy'], 3).run();
  expect(await visible()).toEqual(['done 0', 'done 1', 'done 2', 'waiting']);
});

it('a deleted task goes with its chunks, after watchers could learn of it and when nobody works on it any more', async () => {
  await write('just now', 0, { forget: true });
  await write('long ago', 61_000, { forget: true });
  await write('at work', 61_000, { forget: true, done: false, state: TASK_STATE.canceling, end_time: null });
  for (const task of ['just now', 'long ago', 'at work'])
    await place.models.chunks.create({ _id: `${task}:0`, task, index: 0, fence: 1, body: '{}' });
  await createHousekeeping(place.models, clock, ['copy']).run();
  const left = async (model: 'tasks' | 'chunks') =>
    (model === 'tasks' ? await place.models.tasks.find().lean() : await place.models.chunks.find().lean()).map(({ _id }) => _id).sort();
  expect(await left('tasks')).toEqual(['at work', 'just now']);
  expect(await left('chunks')).toEqual(['at work:0', 'just now:0']);
});

it('a look at what is to go reads nothing of what waits, and what is kept once', async () => {
  const kept = 100;
  await makeIndexes(place.models.tasks);
  await write('long ago', 61_000, { forget: true });
  for (let index = 0; index < kept; index += 1) {
    await write(`waiting ${index}`, 120_000, { done: false, state: TASK_STATE.pending, end_time: null, waiting: true });
    await write(`done ${index}`, 120_000, {});
  }
  const from = await documentsRead(place.url);
  await createHousekeeping(place.models, clock, ['copy']).run();
  expect((await documentsRead(place.url)) - from).toBeLessThan(1.2 * kept);
});

it('what only one replica could do is given up when that one has been away for a day, and not sooner', async () => {
  const open = { done: false, end_time: null, waiting: true, state: TASK_STATE.pending, paused: false };
  const gone = { ...open, kind: 'upload-gone', list: 'upload' };
  await write('gone', 2 * DAY_MS, gone);
  await write('gone, to be retried', 2 * DAY_MS, { ...gone, state: TASK_STATE.waitingRetry });
  await write('gone, being cancelled', 2 * DAY_MS, { ...gone, waiting: false, state: TASK_STATE.canceling });
  await write('paused', 2 * DAY_MS, { ...gone, waiting: false, paused: true });
  await write('mine', 2 * DAY_MS, open);
  await write('of a busy one', 2 * DAY_MS, { ...open, kind: 'upload-busy' });
  await write('what it works on', DAY_MS / 2, { ...open, kind: 'upload-busy', waiting: false, state: TASK_STATE.running });
  await write('of one that was here today', DAY_MS / 2, { ...open, kind: 'upload-away' });
  let nowMs = 0;
  const housekeeping = createHousekeeping(place.models, clock, ['copy'], undefined, () => nowMs);
  nowMs = 600_000;
  await housekeeping.run();
  const ended = async () =>
    (await place.models.tasks.find({ done: true }).sort({ _id: 1 }).lean()).map(({ _id, state, error }) => ({ _id, state, error }));
  // It has just begun to look: the others may be starting as well.
  expect(await ended()).toEqual([]);
  nowMs += 3_600_000;
  await housekeeping.run();
  const error = 'the only worker that could do this has been away for a day';
  expect(await ended()).toEqual([
    { _id: 'gone', state: TASK_STATE.failed, error },
    { _id: 'gone, being cancelled', state: TASK_STATE.canceled, error: '' },
    { _id: 'gone, to be retried', state: TASK_STATE.failed, error },
  ]);
});

it('what waits for another replica is not given up because the clock of the store was set ahead', async () => {
  const open = {
    done: false,
    end_time: null,
    waiting: true,
    state: TASK_STATE.pending,
    paused: false,
    kind: 'upload-there',
    list: 'upload',
  };
  await write('waits there', 0, open);
  let [now, nowMs] = [NOW, 0];
  const housekeeping = createHousekeeping(place.models, { ...clock, now: () => now }, ['copy'], undefined, () => nowMs);
  await housekeeping.run();
  nowMs = 7_200_000;
  now = new Date(NOW.getTime() + 3 * DAY_MS);
  await housekeeping.run();
  // The worker there goes on, and is seen again.
  await place.models.tasks.create({
    ...open,
    _id: 'done there',
    name: '',
    run_at: now,
    created_at: now,
    updated_at: now,
    lease_until: now,
  });
  nowMs += 600_000;
  await housekeeping.run();
  await place.models.tasks.deleteOne({ _id: 'done there' });
  nowMs += 3_600_000 - 1;
  await housekeeping.run();
  expect(await place.models.tasks.countDocuments({ done: true })).toBe(0);
});

it('what was to happen soon happens soon after the clock of the store was set back', async () => {
  const open = { done: false, end_time: null, waiting: true, state: TASK_STATE.pending };
  const held = { ...open, waiting: false, worker: 'ended', state: TASK_STATE.running };
  await write('queued', -DAY_MS, open);
  await write('held', -DAY_MS, held);
  await write('cleaned up', -DAY_MS, { ...held, state: TASK_STATE.canceling });
  await write('of another owner', -DAY_MS, { ...held, kind: 'other' });
  await write('postponed', -60_000, open);
  await write('at work', -6_000, held);
  await createHousekeeping(place.models, clock, ['copy']).run();
  const due = await place.models.tasks
    .find({
      $or: [
        { waiting: true, run_at: { $lte: NOW } },
        { waiting: false, lease_until: { $lte: NOW } },
      ],
    })
    .sort({ _id: 1 })
    .lean();
  expect(due.map(({ _id }) => _id)).toEqual(['cleaned up', 'held', 'queued']);
  // Whoever takes over what was held finds it due.
  expect(due.filter(({ run_at }) => run_at > NOW)).toEqual([]);
});
