import { z } from 'zod';
import type { TaskOwner } from './models.ts';

/** Ids of one event; more are several events. */
export const MAX_WAKE_IDS = 500;

/** Tasks, or users, of one event; of more it says none. */
export const MAX_TOLD_TASKS = 40;

/** A task as clients see it; its name and its error are shortened where they are too long. */
const shownTask = z.object({
  id: z.string(),
  name: z.string(),
  creator: z.string(),
  creator_role: z.number(),
  state: z.number(),
  status: z.string(),
  progress: z.number(),
  /** RFC 3339; null before it began. */
  start_time: z.string().nullable(),
  end_time: z.string().nullable(),
  total_bytes: z.number(),
  error: z.string(),
  /** Its name (docs/errors.md); empty when there is none. */
  error_code: z.string(),
  paused: z.boolean(),
  speed: z.number(),
  eta: z.number().nullable(),
  phase: z.string(),
  list: z.string(),
});
export type ShownTask = Readonly<z.infer<typeof shownTask>>;

/**
 * A task changed, and perhaps others a moment before it. Published by their owner. `tasks`: all of them, as the store has them in these revisions; absent: what they
 * are now is in the store. `creators`: whose they are; absent: anybody's.
 */
export const taskProgressed = (owner: TaskOwner) => ({
  name: `wharf.${owner}.task-progressed.v1`,
  schema: z.object({
    id: z.string(),
    list: z.string(),
    creatorId: z.number(),
    state: z.number(),
    progress: z.number(),
    creators: z.array(z.number()).max(MAX_TOLD_TASKS).optional(),
    tasks: z
      .array(z.object({ creatorId: z.number(), revision: z.number(), shown: shownTask }))
      .max(MAX_TOLD_TASKS)
      .optional(),
  }),
});

/**
 * Tasks wait for a worker, or one that has them must look: whoever holds one of `ids` reads it at once. Published by their owner, `from` is the
 * worker that has seen to it itself.
 */
export const taskWake = (owner: TaskOwner) => ({
  name: `wharf.${owner}.task-wake.v1`,
  schema: z.object({ ids: z.array(z.string()).max(MAX_WAKE_IDS), from: z.string().optional() }),
});
