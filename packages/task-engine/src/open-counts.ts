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
/** Tasks that are read at a time: asked how many there are of each kind, an embedded store would do nothing else until it has read all. */
const READ_AT_A_TIME = 50;

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

  const found = await countEach({ tasks });
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

async function countEach({ tasks }: Pick<TaskModels, 'tasks'>): Promise<readonly OpenCount[]> {
  const counted = new Map<string, OpenCount>();
  const open = tasks.collection.find({ done: false }, { projection: { _id: 0, kind: 1, state: 1 }, batchSize: READ_AT_A_TIME });
  for await (const { kind, state } of open) {
    const key = `${state} ${kind}`;
    counted.set(key, { kind, state, count: (counted.get(key)?.count ?? 0) + 1 });
  }
  return [...counted.values()];
}

function parse({ counts }: TaskCountsRecord): readonly OpenCount[] {
  return countsShape.parse(JSON.parse(counts));
}
