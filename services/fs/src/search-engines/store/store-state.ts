import type { IndexStateRecord, Models } from '@wharf/models';
import { FIRST_STATE, type IndexState, LEASE_MS, type SearchIndex } from '../../domain/search/search-index.ts';
import { ignoreDuplicates } from './index-records.ts';

const STATE_ID = 'index';
const NOBODY_SINCE = new Date(0);

/** The state of the job that fills the index, and the lease of the replica that works on it. */
export function createStoreState({ indexState: states }: Models): Pick<SearchIndex, 'readState' | 'replaceState' | 'claim' | 'release'> {
  async function makeState(): Promise<void> {
    const first = { revision: 0, body: '', owner: '', lease_until: NOBODY_SINCE };
    if (!(await states.exists({ _id: STATE_ID })))
      await ignoreDuplicates(states.updateOne({ _id: STATE_ID }, { $setOnInsert: first }, { upsert: true }));
  }
  return {
    async readState() {
      const record = await states.findById(STATE_ID).lean<IndexStateRecord>();
      return record ? stateOf(record) : FIRST_STATE;
    },
    async replaceState(next) {
      await makeState();
      const body = JSON.stringify({ ...next, revision: next.revision + 1 });
      const { matchedCount } = await states.updateOne(
        { _id: STATE_ID, revision: next.revision },
        { $set: { body, revision: next.revision + 1 } },
      );
      return matchedCount === 1;
    },
    async claim(owner) {
      await makeState();
      // A pipeline, because it knows the store's clock: those of processes may differ. What has far more than a lease left was given before that was set
      // back: a little more has one that was given by another member of the store, or before a small correction.
      const isOver = { $or: [{ $lt: ['$lease_until', '$$NOW'] }, { $gt: ['$lease_until', { $add: ['$$NOW', 2 * LEASE_MS] }] }] };
      const mayClaim = { $or: [{ $eq: ['$owner', { $literal: owner }] }, isOver] };
      const claimed = {
        owner: { $cond: [mayClaim, { $literal: owner }, '$owner'] },
        lease_until: { $cond: [mayClaim, { $add: ['$$NOW', LEASE_MS] }, '$lease_until'] },
      };
      const options = { returnDocument: 'after', updatePipeline: true } as const;
      return (await states.findOneAndUpdate({ _id: STATE_ID }, [{ $set: claimed }], options).lean<IndexStateRecord>())?.owner === owner;
    },
    async release(owner) {
      await states.updateOne({ _id: STATE_ID, owner }, { $set: { owner: '', lease_until: NOBODY_SINCE } });
    },
  };
}

function stateOf({ revision, body }: IndexStateRecord): IndexState {
  // Written by replaceState only; JSON leaves out what is undefined.
  return body === '' ? { ...FIRST_STATE, revision } : { ...FIRST_STATE, ...(JSON.parse(body) as IndexState) };
}
