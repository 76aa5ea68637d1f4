import type { Model, QueryFilter, SortOrder } from 'mongoose';

/** So many are looked at and removed at a time: an embedded store answers nobody else meanwhile. */
const STEP = 200;

/** Removes the first `count` records that meet a filter, in the order of `sort`, and lets others have the store in between. */
export async function removeInSteps<Record>(
  model: Model<Record>,
  filter: QueryFilter<Record>,
  sort: Readonly<{ [field: string]: SortOrder }>,
  count: number,
): Promise<void> {
  const found = model.find(filter, { _id: 1 }).sort(sort).limit(count).batchSize(STEP).lean().cursor();
  const ids: unknown[] = [];
  for await (const { _id } of found as AsyncIterable<{ readonly _id: unknown }>) ids.push(_id);
  while (ids.length > 0) await model.deleteMany({ _id: { $in: ids.splice(0, STEP) } } as QueryFilter<Record>);
}
