import type { TaskModels } from '@wharf/models';
import { createHeldTasks, type HeldTasks } from './held-tasks.ts';
import { createOddCounters, type OddCounters } from './odd-counters.ts';
import type { StoreClock } from './store-clock.ts';
import { createTaskChunkStore, type TaskChunkStore } from './task-chunks.ts';
import { createTaskClaims, type TaskClaims } from './task-claims.ts';
import { createWaitingTasks, type WaitingTasks } from './waiting-tasks.ts';

/** What workers do with tasks in the store. Each write is one compare-and-set; those of a worker carry its fence. */
export type TaskQueue = TaskClaims & WaitingTasks & HeldTasks & TaskChunkStore & OddCounters;

export function createTaskQueue(models: TaskModels, clock: StoreClock): TaskQueue {
  return {
    ...createTaskClaims(models, clock),
    ...createWaitingTasks(models, clock),
    ...createHeldTasks(models, clock),
    ...createTaskChunkStore(models),
    ...createOddCounters(models),
  };
}
