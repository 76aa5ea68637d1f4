import type { Doc, Value } from '../bson/value.ts';
import { findDocuments } from '../plan/find-documents.ts';
import { compileFilter } from '../query/filter.ts';
import { parseKeyPattern } from '../query/key-pattern.ts';
import { compileProjection } from '../query/projection.ts';
import type { StoredDocument } from '../storage/collection.ts';
import { compileUpdate } from '../update/update.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext, Handler } from './handler.ts';
import type { Reply } from './reply.ts';
import { collectionName, commandFields, type Request } from './request.ts';
import { applyUpdate, upsert } from './write-commands.ts';

const FIELDS = ['query', 'sort', 'remove', 'update', 'new', 'fields', 'upsert', 'bypassDocumentValidation'];

export const FIND_AND_MODIFY: Handler = { kind: 'write', run: findAndModify };

function findAndModify(request: Request, { catalog, now }: CommandContext): Reply {
  const fields = commandFields(request, FIELDS);
  const name = collectionName(request);
  const filter = compileFilter(fields.doc('query') ?? {});
  const sort = parseKeyPattern(fields.doc('sort') ?? {});
  const projection = compileProjection(fields.doc('fields') ?? {}) ?? ((doc: Doc) => doc);
  const isRemoval = fields.flag('remove');
  const isNew = fields.flag('new');
  const isUpsert = fields.flag('upsert');
  if (isRemoval === fields.has('update')) {
    throw new CommandError(
      'FailedToParse',
      isRemoval ? 'Cannot specify both an update and remove=true' : 'Either an update or remove=true must be specified',
    );
  }
  if (isRemoval && isUpsert) throw new CommandError('FailedToParse', 'Cannot specify both upsert=true and remove=true');
  if (isRemoval && isNew)
    throw new CommandError('FailedToParse', "Cannot specify both new=true and remove=true; 'remove' always returns the deleted document");
  const change = isRemoval ? undefined : compileUpdate(fields.value('update'));
  const collection = catalog.find(request.database, name);
  const stored = collection && firstOf(findDocuments(collection, { filter, sort, limit: 1, timeLimit: request.timeLimit }));
  if (!change) {
    if (collection && stored) collection.remove(stored);
    return answer({ n: stored ? 1 : 0 }, stored ? projection(stored.doc) : null);
  }
  if (collection && stored) {
    const { doc } = applyUpdate(collection, stored, change, now());
    return answer({ n: 1, updatedExisting: true }, projection(isNew ? doc : stored.doc));
  }
  if (!isUpsert) return answer({ n: 0, updatedExisting: false }, null);
  const inserted = upsert(collection ?? catalog.open(request.database, name), filter, change, now());
  return answer({ n: 1, updatedExisting: false, upserted: inserted['_id'] }, isNew ? projection(inserted) : null);
}

function firstOf(documents: Iterable<StoredDocument>): StoredDocument | undefined {
  for (const document of documents) return document;
  return undefined;
}

function answer(lastErrorObject: Record<string, unknown>, value: Value): Reply {
  return { fields: { lastErrorObject, value } };
}
