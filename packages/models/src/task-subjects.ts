import { z } from 'zod';
import type { TaskOwner } from './models.ts';

/** Ids of one event; more are several events. */
export const MAX_WAKE_IDS = 500;

/** A task changed, and perhaps others a moment before it. Published by its owner; what they are now is in the store. */
export const taskProgressed = (owner: TaskOwner) => ({
  name: `wharf.${owner}.task-progressed.v1`,
  schema: z.object({ id: z.string(), list: z.string(), creatorId: z.number(), state: z.number(), progress: z.number() }),
});

/**
 * Tasks wait for a worker, or one that has them must look: whoever holds one of `ids` reads it at once. Published by their owner, `from` is the
 * worker that has seen to it itself.
 */
export const taskWake = (owner: TaskOwner) => ({
  name: `wharf.${owner}.task-wake.v1`,
  schema: z.object({ ids: z.array(z.string()).max(MAX_WAKE_IDS), from: z.string().optional() }),
});
