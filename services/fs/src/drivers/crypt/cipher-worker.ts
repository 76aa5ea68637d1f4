import { parentPort } from 'node:worker_threads';
import type { CipherAnswer } from './cipher-pool.ts';
import { type CipherTask, runTask } from './run-task.ts';

/** The other end of `cipher-pool.ts`. */
parentPort?.on('message', ({ id, ...task }: CipherTask & { id: number }) => {
  const bytes = runTask(task);
  parentPort?.postMessage({ id, bytes } satisfies CipherAnswer, bytes === undefined ? [] : [bytes.buffer]);
});
