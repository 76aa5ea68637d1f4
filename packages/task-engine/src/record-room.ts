import { createPace } from '@wharf/pace';
import type { NewTask } from './new-task.ts';
import type { TaskKind } from './task-kind.ts';

/** Texts of a task up to so many bytes find room in any case: as many tasks as there may be take less than what is left free for them. */
export const SHORT_TASK_BYTES = 2_048;

/**
 * Asked before the store is to hold so many bytes more, for weeks where tasks end without success.
 *
 * @returns to be called once they are there, or are not going to be
 */
export type RecordRoom = (bytes: number) => Promise<() => void>;

/** What the store is to hold of tasks beyond what each may have unasked, in bytes: some have lists of thousands of paths. */
export async function longBytes<Input>(kind: TaskKind<Input>, tasks: readonly NewTask<Input>[]): Promise<number> {
  const pace = createPace();
  let sum = 0;
  for (const { name, input } of tasks) {
    await pace.step();
    sum += Math.max(0, Buffer.byteLength(name) + Buffer.byteLength(kind.encodeInput(input)) - SHORT_TASK_BYTES);
  }
  return sum;
}
