import { type Api, at, waitFor } from '@wharf/harness';
import { put } from './files.ts';

type TaskList = 'copy' | 'move' | 'upload';

/** States that are no more changed by work. */
const ENDED: readonly unknown[] = [2, 4, 7];

/** A copy of a big tree takes its time; what is wrong is seen by the state. */
const WITHIN_MS = 1_800_000;

/** Waits until a task has ended, and answers it as it is then. */
export async function endOf(caller: Api, list: TaskList, id: unknown): Promise<unknown> {
  let task: unknown;
  await waitFor(
    `task ${id} to end`,
    async () => {
      task = await caller.call(`/api/task/${list}/info?tid=${id}`, {});
      return ENDED.includes(at(task, 'state'));
    },
    { withinMs: WITHIN_MS },
  );
  return task;
}

/** Waits until all tasks of an answer have succeeded. @param data what fs/copy or fs/move answered */
export async function allDone(caller: Api, list: TaskList, data: unknown): Promise<void> {
  const tasks = at(data, 'tasks');
  if (!Array.isArray(tasks) || tasks.length === 0) throw new Error(`no task was made: ${JSON.stringify(data)}`);
  for (const queued of tasks) {
    const task = await endOf(caller, list, at(queued, 'id'));
    if (at(task, 'state') !== 2) throw new Error(`a task did not succeed: ${JSON.stringify(task)}`);
  }
}

/** Of some uploads one is not yet stored when it is held: a body that waits. @returns its path, in the folder */
export async function holdUpload(admin: Api, base: string, folder: string, content: string): Promise<string> {
  for (let i = 0; ; i++) {
    const path = `${folder}/waiting ${i}.txt`;
    const answer = await put(admin, base, path, content, { 'as-task': 'true' });
    const id = String(at(answer.data, 'task', 'id'));
    await admin.call(`/api/task/upload/pause?tid=${id}`);
    const task = await admin.call(`/api/task/upload/info?tid=${id}`);
    // One that was stored right before it was held waits for nothing but its end.
    const isStored = (await admin.post('/api/fs/get', { path })).code === 200;
    if (at(task, 'paused') === true && at(task, 'state') !== 2 && !isStored) return path;
    if (i > 50) throw new Error('no upload could be held');
  }
}
