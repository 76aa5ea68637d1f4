import { isDuplicateKey, type TaskCountsRecord, type TaskModels } from '@wharf/models';
import { z } from 'zod';

/** Tasks of one kind in one state. */
export interface OpenCount {
  readonly kind: string;
  readonly state: number;
  readonly count: number;
}

const ID = 'open';
/** As often as Prometheus asks by default. */
const COUNT_EVERY_MS = 15_000;
/** Counting takes a twentieth of the time at most, however many tasks there are. */
const REST_FACTOR = 20;

const countsShape = z.array(z.object({ kind: z.string(), state: z.number(), count: z.number() }));

/**
 * How many tasks have not ended. All of them are read for that, so one replica counts for all, and for a while.
 *
 * @param now milliseconds since 1970 by the store's clock, once it is known
 */
export async function openCounts({ tasks, counts }: TaskModels, now: () => number): Promise<readonly OpenCount[]> {
  const known = (await counts.findById(ID).lean<TaskCountsRecord>()) ?? undefined;
  const at = now();
  if (known && at - known.counted_at < Math.max(COUNT_EVERY_MS, REST_FACTOR * known.took_ms)) return parse(known);
  if (!(await takeTurn())) return known ? parse(known) : [];

  const grouped = await tasks.aggregate<{ _id: { kind: string; state: number }; count: number }>([
    { $match: { done: false } },
    { $group: { _id: { kind: '$kind', state: '$state' }, count: { $sum: 1 } } },
  ]);
  const found = grouped.map(({ _id, count }): OpenCount => ({ ..._id, count }));
  await counts.updateOne({ _id: ID, counted_at: at }, { $set: { counts: JSON.stringify(found), took_ms: now() - at } });
  return found;

  async function takeTurn(): Promise<boolean> {
    if (known) {
      const { matchedCount } = await counts.updateOne({ _id: ID, counted_at: known.counted_at }, { $set: { counted_at: at } });
      return matchedCount > 0;
    }
    try {
      await counts.create({ _id: ID, counted_at: at, took_ms: 0, counts: '[]' });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }
}

function parse({ counts }: TaskCountsRecord): readonly OpenCount[] {
  return countsShape.parse(JSON.parse(counts));
}
