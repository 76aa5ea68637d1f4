import type { Model, QueryFilter } from 'mongoose';
import { giveCounters, isOddCounter } from './odd-counters.ts';
import { updateEach } from './update-each.ts';

/** Records that are changed at a time: an embedded store does nothing else meanwhile, and some tasks name thousands of files. */
const STEP = 50;

/**
 * Changes all records that meet a filter now, and each only if it still meets it when its turn has come. Others find the store free in between.
 *
 * @param around does each step, of so many records; what it throws ends the work
 */
export async function updateInSteps<Each extends { _id: string }>(
  model: Model<Each>,
  filter: Readonly<Record<string, unknown>>,
  update: Readonly<Record<string, unknown>>,
  around: (count: number, change: () => Promise<unknown>) => Promise<unknown> = (_count, change) => change(),
): Promise<void> {
  const ids: string[] = [];
  const found = model
    .find(filter as QueryFilter<Each>, { _id: 1 })
    .batchSize(STEP)
    .lean()
    .cursor();
  for await (const { _id } of found as AsyncIterable<{ readonly _id: string }>) ids.push(_id);
  // Each by its id: with a list of ids the store may go by an index of the rest of the filter, and look at all of them in each step.
  while (ids.length > 0) {
    const some = ids.splice(0, STEP);
    const step = some.map((_id) => ({ filter: { ...filter, _id }, update }));
    const change = () => updateEach(model, step);
    await around(step.length, () =>
      change().catch(async (error: unknown) => {
        if (!isOddCounter(error)) throw error;
        // Else one of them would keep all others from it, each time.
        await giveCounters(model, { _id: { $in: some } });
        // Those that were changed do not meet the filter any more.
        return change();
      }),
    );
  }
}
