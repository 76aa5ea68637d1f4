import { type RenameJournalRecord, renameJournalModelOf } from '@wharf/models';
import { parseEntryName, parseVirtualPath } from '@wharf/paths';
import type { StoreConnection } from '@wharf/service-kit';
import type { JournaledRenames, RenameJournalStore, RenameStep } from '../domain/operations/rename-journal.ts';

export function createRenameJournalStore(connection: StoreConnection): RenameJournalStore {
  const model = renameJournalModelOf(connection);
  return {
    async init() {
      await model.createIndexes();
    },
    async insert({ id, storageId, folder, steps, closing, createdAt }, holder, expiresAt) {
      const names = steps.flatMap(({ from, to }) => [from, to]).join('/');
      await model.create({
        _id: id,
        ...{ holder, folder, names, closing },
        storage_id: storageId,
        expires_at: expiresAt,
        created_at: createdAt,
      });
    },
    async renew(id, holder, expiresAt) {
      return (await model.updateOne({ _id: id, holder }, { $set: { expires_at: expiresAt } })).matchedCount === 1;
    },
    async setClosing(id, holder, closing) {
      return (await model.updateOne({ _id: id, holder }, { $set: { closing } })).matchedCount === 1;
    },
    async remove(id, holder) {
      return (await model.deleteOne({ _id: id, holder })).deletedCount === 1;
    },
    async takeExpired(now, holder, expiresAt) {
      const record = await model
        .findOneAndUpdate({ expires_at: { $lt: now } }, { $set: { holder, expires_at: expiresAt } }, { returnDocument: 'after' })
        .lean<RenameJournalRecord>();
      return record ? toRenames(record) : undefined;
    },
  };
}

function toRenames(record: RenameJournalRecord): JournaledRenames {
  const names = record.names.split('/').map(parseEntryName);
  const steps: RenameStep[] = [];
  for (let at = 0; at + 1 < names.length; at += 2) {
    const [from, to] = [names[at], names[at + 1]];
    if (from !== undefined && to !== undefined) steps.push({ from, to });
  }
  return {
    id: record._id,
    storageId: record.storage_id,
    folder: parseVirtualPath(record.folder),
    steps,
    closing: record.closing,
    createdAt: record.created_at,
  };
}
