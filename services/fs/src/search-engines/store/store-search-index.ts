import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { type IndexEntryRecord, type IndexFolderRecord, type IndexStateRecord, isDuplicateKey, type Models } from '@wharf/models';
import { baseName, childPath, type EntryName, isWithin, parentPath, type VirtualPath } from '@wharf/paths';
import { foldCase, gramsOf } from '../../domain/search/keywords.ts';
import {
  depthBelow,
  FIRST_STATE,
  type IndexedEntry,
  type IndexState,
  LEASE_MS,
  type SearchIndex,
} from '../../domain/search/search-index.ts';
import { createStoreSearch } from './store-search.ts';

/** Records that travel in one command. */
const BATCH = 500;
const ID_BYTES = 9;
const STATE_ID = 'index';
const NOBODY_SINCE = new Date(0);

type Folder = Pick<IndexFolderRecord, '_id' | 'path' | 'depth'>;

/**
 * The index that all replicas share, in the store. Entries refer to their folder by its id, so that a folder moves without them. No change
 * needs a transaction: an entry whose folder is gone is not found, and every change may be done again.
 *
 * Entries have an index over their grams, and it is not there while an emptied index fills: made of what is there it costs a tenth of what
 * it costs entry by entry. Folders need none: the ids of their entries begin with theirs.
 */
export async function createStoreSearchIndex(models: Models): Promise<SearchIndex> {
  const { indexFolders: folders, indexEntries: entries, indexState: states } = models;
  await folders.createIndexes();
  const search = createStoreSearch(models);

  const folderAt = async (path: VirtualPath): Promise<Folder | undefined> => (await folders.findOne({ path }).lean<Folder>()) ?? undefined;
  const addFolders = async (wanted: ReadonlyArray<Omit<IndexFolderRecord, '_id'>>) => {
    for (const batch of batches(wanted))
      await ignoreDuplicates(
        folders.bulkWrite(
          batch.map(({ path, ...rest }) => ({
            updateOne: {
              filter: { path },
              update: { $setOnInsert: { _id: randomBytes(ID_BYTES).toString('base64url'), ...rest } },
              upsert: true,
            },
          })),
          { ordered: false },
        ),
      );
  };
  const dropFolders = async (ids: readonly string[]) => {
    await entries.bulkWrite(
      ids.map((id) => ({ deleteMany: { filter: { _id: within(id) } } })),
      { ordered: false },
    );
    await folders.deleteMany({ _id: { $in: [...ids] } });
  };
  const dropTrees = async (paths: readonly VirtualPath[]) => {
    for (const batch of batches(paths, 20))
      for (;;) {
        const found = await folders
          .find({ $or: batch.flatMap(subtree) }, { _id: 1 })
          .limit(BATCH)
          .lean<Folder[]>();
        if (found.length === 0) break;
        await dropFolders(found.map(({ _id }) => _id));
      }
  };
  const putBatch = async (folder: Folder, batch: readonly IndexedEntry[], generation: number) => {
    const wanted = batch.map((entry) => recordOf(folder._id, entry));
    const known = await entries
      .find({ _id: { $in: wanted.map(({ _id }) => _id) } }, { is_dir: 1, size: 1 })
      .lean<Array<Pick<IndexEntryRecord, '_id' | 'is_dir' | 'size'>>>();
    const knownById = new Map(known.map((entry) => [entry._id, entry]));
    const added = wanted.filter(({ _id }) => !knownById.has(_id));
    // Told by its id alone: whoever put the same entry meanwhile put the same.
    if (added.length > 0) await ignoreDuplicates(entries.insertMany(added, { ordered: false, lean: true }));
    const changed = wanted.filter((entry) => {
      const before = knownById.get(entry._id);
      return before && (before.is_dir !== entry.is_dir || before.size !== entry.size);
    });
    if (changed.length > 0)
      await entries.bulkWrite(
        changed.map(({ _id, is_dir, size }) => ({ updateOne: { filter: { _id }, update: { $set: { is_dir, size } } } })),
        { ordered: false },
      );
    const directory = folder.path as VirtualPath;
    const inner = batch.filter(({ isDirectory }) => isDirectory);
    await addFolders(
      inner.map(({ name, isLink }) => {
        const depth = isLink ? 0 : depthBelow(folder.depth);
        return { path: childPath(directory, name), depth, queued: depth === 0 ? null : generation };
      }),
    );
    const noFolders = batch.filter(({ name, isDirectory }) => !isDirectory && knownById.get(idOf(folder._id, name))?.is_dir);
    await dropTrees(noFolders.map(({ name }) => childPath(directory, name)));
  };

  return guarded({
    search,
    // An estimate of the store may be minutes old.
    count: () => entries.countDocuments(),

    async findFolder(path) {
      const folder = await folderAt(path);
      return folder && { path, depth: folder.depth };
    },
    async children(directory) {
      const folder = await folderAt(directory);
      const found = folder ? await entries.find({ _id: within(folder._id) }, { name: 1, is_dir: 1 }).lean<IndexEntryRecord[]>() : [];
      return new Map(found.map(({ name, is_dir }) => [name as EntryName, is_dir]));
    },
    async put(directory, wanted, generation) {
      const folder = await folderAt(directory);
      if (folder) for (const batch of batches(wanted)) await putBatch(folder, batch, generation);
    },
    async remove(directory, names) {
      const folder = await folderAt(directory);
      for (const batch of batches(names)) {
        if (folder) await entries.deleteMany({ _id: { $in: batch.map((name) => idOf(folder._id, name)) } });
        await dropTrees(batch.map((name) => childPath(directory, name)));
      }
    },
    async move(from, to) {
      const [oldName, newName] = [baseName(from), baseName(to)];
      const [oldParent, newParent, moved] = await Promise.all([folderAt(parentPath(from)), folderAt(parentPath(to)), folderAt(from)]);
      if (oldName === undefined || newName === undefined || !oldParent || !newParent || !moved || isWithin(from, to)) return false;
      const before = await entries.findById(idOf(oldParent._id, oldName)).lean<IndexEntryRecord>();
      if (!before?.is_dir || (await entries.findById(idOf(newParent._id, newName)).lean())) return false;
      await dropTrees([to]);
      const { _id, ...after } = recordOf(newParent._id, { name: newName, isDirectory: true, sizeBytes: before.size });
      await entries.updateOne({ _id }, { $set: after }, { upsert: true });
      // The topmost folder is the last one: after a crash what is left is found at the old place, and goes with it.
      const inside = await folders
        .find({ $or: subtree(from) }, { path: 1 })
        .sort({ path: -1 })
        .lean<Folder[]>();
      for (const batch of batches(inside))
        await folders.bulkWrite(
          batch.map((folder) => ({
            updateOne: { filter: { _id: folder._id }, update: { $set: { path: to + folder.path.slice(from.length) } } },
          })),
        );
      await entries.deleteOne({ _id: before._id });
      return true;
    },
    async clear() {
      await entries.collection.dropIndexes();
      await entries.deleteMany({});
      await folders.deleteMany({});
    },
    makeFast: () => entries.createIndexes(),
    async openFolder(path, depth, generation) {
      const queued = depth === 0 ? null : generation;
      await addFolders([{ path, depth, queued }]);
      await folders.updateOne({ path }, { $set: { depth, queued } });
    },
    async requeue(path, generation, isDeep) {
      await folders.updateMany({ $or: isDeep ? subtree(path) : [{ path }], depth: { $ne: 0 } }, { $set: { queued: generation } });
    },
    async queued(generation, limit) {
      const found = await folders.find({ queued: generation }, { path: 1, depth: 1 }).limit(limit).lean<Folder[]>();
      return found.map(({ path, depth }) => ({ path: path as VirtualPath, depth }));
    },
    async settle(paths, isDeep = false) {
      for (const batch of batches(paths, isDeep ? 20 : BATCH))
        await folders.updateMany(isDeep ? { $or: batch.flatMap(subtree) } : { path: { $in: batch } }, { $set: { queued: null } });
    },

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
      // A pipeline, because it knows the store's clock: those of processes may differ.
      const mayClaim = { $or: [{ $eq: ['$owner', { $literal: owner }] }, { $lt: ['$lease_until', '$$NOW'] }] };
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
    close: async () => {},
  });

  async function makeState(): Promise<void> {
    const first = { revision: 0, body: '', owner: '', lease_until: NOBODY_SINCE };
    if (!(await states.exists({ _id: STATE_ID })))
      await ignoreDuplicates(states.updateOne({ _id: STATE_ID }, { $setOnInsert: first }, { upsert: true }));
  }
}

function stateOf({ revision, body }: IndexStateRecord): IndexState {
  // Written by replaceState only; JSON leaves out what is undefined.
  return body === '' ? { ...FIRST_STATE, revision } : { ...FIRST_STATE, ...(JSON.parse(body) as IndexState) };
}

function recordOf(folder: string, { name, isDirectory, sizeBytes }: IndexedEntry): IndexEntryRecord {
  return { _id: idOf(folder, name), folder, name, is_dir: isDirectory, size: Math.trunc(sizeBytes), grams: gramsOf(foldCase(name)) };
}

function idOf(folder: string, name: EntryName): string {
  return `${folder}/${name}`;
}

/** Conditions that together match a folder and all below it. */
function subtree(path: VirtualPath): Array<{ path: string | Range }> {
  return path === '/' ? [{ path: within('') }] : [{ path }, { path: within(path) }];
}

interface Range {
  readonly $gte: string;
  readonly $lt: string;
}

/** All that begins with a text and a slash. "0" follows "/" in the order of bytes. */
function within(start: string): Range {
  return { $gte: `${start}/`, $lt: `${start}0` };
}

function* batches<Item>(items: readonly Item[], size = BATCH): Generator<Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** Two upserts of one record at once may both try to insert; the one that lost finds what it wanted to be there. */
async function ignoreDuplicates(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

/** The index with the errors of the store in our words. */
function guarded(index: SearchIndex): SearchIndex {
  const guard =
    <Values extends readonly unknown[], Result>(call: (...values: Values) => Promise<Result>) =>
    async (...values: Values): Promise<Result> => {
      try {
        return await call(...values);
      } catch (error) {
        if (AppError.is(error)) throw error;
        throw new AppError('STORAGE_UNAVAILABLE', 'the search index is not available', { cause: error });
      }
    };
  return {
    search: guard(index.search),
    count: guard(index.count),
    findFolder: guard(index.findFolder),
    children: guard(index.children),
    put: guard(index.put),
    remove: guard(index.remove),
    move: guard(index.move),
    clear: guard(index.clear),
    makeFast: guard(index.makeFast),
    openFolder: guard(index.openFolder),
    requeue: guard(index.requeue),
    queued: guard(index.queued),
    settle: guard(index.settle),
    readState: guard(index.readState),
    replaceState: guard(index.replaceState),
    claim: guard(index.claim),
    release: guard(index.release),
    close: index.close,
  };
}
