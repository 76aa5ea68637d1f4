import { type TaskModels, taskModelsOf } from '@wharf/models';
import type { StoreConnection } from '@wharf/service-kit';
import { STEPS } from './task-control.ts';
import { stamp } from './task-lease.ts';
import { updateInSteps } from './update-in-steps.ts';

const OWNERS = ['fs', 'downloader'] as const;

/**
 * Pauses whatever has not ended, of all users, so that nothing goes on before somebody has looked at it. To be called while no service runs: it may be
 * called again after a crash.
 *
 * @returns how many tasks are paused now
 */
export async function holdOpenTasks(store: StoreConnection): Promise<number> {
  let held = 0;
  for (const owner of OWNERS) held += await hold(taskModelsOf(store, owner));
  return held;
}

async function hold({ tasks }: TaskModels): Promise<number> {
  for (const [filter, change] of STEPS.pause(new Date())) await updateInSteps({ tasks }, filter, { $set: change, ...stamp });
  return tasks.countDocuments({ done: false, paused: true }).exec();
}
