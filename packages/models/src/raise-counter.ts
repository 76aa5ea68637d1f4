import type { Model } from 'mongoose';
import type { CounterRecord } from './collections/counters.ts';
import { isDuplicateKey } from './duplicate-key.ts';

/** Raises a counter of the caller's own by one, and answers it. It begins with 1. */
export async function raiseCounter(counters: Model<CounterRecord>, id: string): Promise<number> {
  const record = await again(() =>
    counters.findOneAndUpdate({ _id: id }, { $inc: { value: 1 } }, { upsert: true, returnDocument: 'after' }).lean<CounterRecord>(),
  );
  if (!record) throw new Error(`the counter ${id} vanished`);
  return record.value;
}

/** Makes sure that a counter of the caller's own goes on behind a number. */
export async function reserveCounter(counters: Model<CounterRecord>, id: string, upTo: number): Promise<void> {
  await again(() => counters.updateOne({ _id: id }, { $max: { value: upTo } }, { upsert: true }));
}

/** Two first upserts of one id may both try to insert; the second then finds the record. */
async function again<Answer>(upsert: () => PromiseLike<Answer>): Promise<Answer> {
  try {
    return await upsert();
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return upsert();
  }
}
