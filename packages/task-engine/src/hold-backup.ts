import { seedModelOf, type TaskModels, taskModelsOf, writeSessionModelOf } from '@wharf/models';
import type { StoreConnection } from '@wharf/service-kit';
import { STEPS } from './task-control.ts';
import { NOBODY, stamp } from './task-lease.ts';
import { TASK_STATE } from './task-state.ts';
import { updateInSteps } from './update-in-steps.ts';

const OWNERS = ['fs', 'downloader'] as const;

/**
 * Has a restored copy do nothing by itself to storages and download tools that it may share with its original, which may run: whatever has not ended is
 * paused, of all users, until somebody has looked at it; drafts of unfinished uploads are left to sweeps by their age, and torrents to their tools. To be
 * called while no service runs: it may be called again after a crash.
 *
 * @returns how many tasks are paused now
 */
export async function holdBackup(store: StoreConnection): Promise<number> {
  await updateInSteps(writeSessionModelOf(store), { of_backup: { $ne: true } }, { $set: { of_backup: true } });
  await seedModelOf(store).updateMany({}, { $set: { remove_at: null }, $unset: { is_going: '' } });
  let held = 0;
  for (const owner of OWNERS) held += await holdTasks(taskModelsOf(store, owner));
  return held;
}

async function holdTasks({ tasks }: TaskModels): Promise<number> {
  const now = new Date();
  const free = { waiting: false, speed: 0, eta: null, ...NOBODY };
  const paused = { ...free, state: TASK_STATE.pending, paused: true };
  // What they left may be of the same task by now, tried again: nobody puts it away.
  const ended = { ...free, done: true, paused: false, phase: '', end_time: now };
  for (const [filter, change] of [
    ...STEPS.pause(now),
    [{ state: TASK_STATE.running }, paused],
    [{ state: TASK_STATE.canceling }, { ...ended, state: TASK_STATE.canceled }],
    [{ state: TASK_STATE.failing }, { ...ended, state: TASK_STATE.failed }],
  ] as const)
    await updateInSteps(tasks, filter, { $set: change, ...stamp });
  return tasks.countDocuments({ done: false, paused: true }).exec();
}
