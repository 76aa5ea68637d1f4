import { setTimeout as delay } from 'node:timers/promises';
import type { TaskModels } from '@wharf/models';
import { within } from '@wharf/service-kit';
import { type TaskUpdate, updateEach } from './update-each.ts';

/** Writes of one request: it takes the store a few milliseconds. */
const MOST_AT_ONCE = 100;
/** After a request others are gathered for so long, in milliseconds. */
const GATHER_MS = 25;
/** A request that has no answer for so long holds up no other one. */
const STUCK_MS = 1_000;

interface Write {
  readonly update: TaskUpdate;
  readonly resolve: (isMet: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Compare-and-sets of tasks: the first goes at once, those that come shortly after it go together. Each has its own answer: whether its task met its
 * filter. One that fails fails no other one.
 */
export function createSharedWrites(models: Pick<TaskModels, 'tasks'>): (update: TaskUpdate) => Promise<boolean> {
  let waiting: Write[] = [];
  let isWriting = false;

  const write = async (writes: readonly Write[]): Promise<void> => {
    const [first] = writes;
    try {
      const met = await updateEach(
        models.tasks,
        writes.map(({ update }) => update),
      );
      if (met === writes.length || writes.length === 1) {
        for (const { resolve } of writes) resolve(met > 0);
        return;
      }
    } catch (error) {
      if (first && writes.length === 1) {
        first.reject(error);
        return;
      }
    }
    // Which of them it was the store does not say. To ask for one again is harmless.
    await Promise.all(writes.map((one) => write([one])));
  };
  const writeAll = async () => {
    while (waiting.length > 0) {
      const writes = waiting.slice(0, MOST_AT_ONCE);
      waiting = waiting.slice(MOST_AT_ONCE);
      const written = Promise.all([write(writes), delay(GATHER_MS)]);
      await within(STUCK_MS, written, 'the store does not answer').catch(() => undefined);
    }
    isWriting = false;
  };

  return (update) =>
    new Promise((resolve, reject) => {
      waiting.push({ update, resolve, reject });
      if (isWriting) return;
      isWriting = true;
      // With those that come in the same turn.
      setImmediate(() => void writeAll());
    });
}
