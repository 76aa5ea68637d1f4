import { ObjectId } from 'bson';
import { toSafeInteger } from '../bson/arithmetic.ts';
import { checkStorable, encodeDocument, MAX_DOCUMENT_BYTES } from '../bson/decode.ts';
import { type Doc, getField, type Value } from '../bson/value.ts';
import { findDocuments } from '../plan/find-documents.ts';
import { compileFilter, type Filter } from '../query/filter.ts';
import type { Collection, StoredDocument } from '../storage/collection.ts';
import { compileUpdate, type Update } from '../update/update.ts';
import { upsertBase } from '../update/upsert.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext, Handler } from './handler.ts';
import type { Reply } from './reply.ts';
import { collectionName, commandFields, Fields, type Request, requireDoc } from './request.ts';
import type { TimeLimit } from './time-limit.ts';

/** As MongoDB's maxWriteBatchSize. */
export const MAX_WRITE_BATCH = 100_000;

/** Of documents that match a command, before it changes the first of them. */
const MAX_KEPT_BYTES = 1024 * 1024;

export const WRITE_COMMANDS: Readonly<Record<string, Handler>> = {
  insert: { kind: 'write', run: insert },
  update: { kind: 'write', run: update },
  delete: { kind: 'write', run: remove },
};

function insert(request: Request, { catalog }: CommandContext): Reply {
  const fields = commandFields(request, ['documents', 'ordered', 'bypassDocumentValidation']);
  const name = collectionName(request);
  const documents = batchOf(fields.docs('documents'));
  let collection: Collection | undefined;
  let inserted = 0;
  const writeErrors = eachStatement(documents, fields.flag('ordered', true), (doc) => {
    const { complete, body } = prepareInsert(doc);
    collection ??= catalog.open(request.database, name);
    collection.insert(complete, body);
    inserted++;
  });
  return { fields: { n: inserted, ...writeErrors } };
}

function update(request: Request, { catalog, now }: CommandContext): Reply {
  const fields = commandFields(request, ['updates', 'ordered', 'bypassDocumentValidation']);
  const name = collectionName(request);
  const statements = batchOf(fields.docs('updates'));
  let matched = 0;
  let modified = 0;
  const upserted: { index: number; _id: Value }[] = [];
  const writeErrors = eachStatement(statements, fields.flag('ordered', true), (doc, index) => {
    const statement = new Fields('update.updates', doc, ['q', 'u', 'multi', 'upsert']);
    const filter = compileFilter(requireDoc('q', statement.value('q')));
    const change = compileUpdate(statement.value('u'));
    const isMulti = statement.flag('multi');
    if (isMulti && change.kind === 'replacement') {
      throw new CommandError('FailedToParse', 'multi update is not supported for replacement-style update');
    }
    const existing = catalog.find(request.database, name);
    const found = existing ? matchingDocuments(existing, filter, isMulti, request.timeLimit) : [];
    if (existing && found.length > 0) {
      for (const one of found) {
        const stored = typeof one === 'number' ? existing.read(one) : one;
        if (!stored) continue;
        matched++;
        if (applyUpdate(existing, stored, change, now()).isModified) modified++;
      }
    } else if (statement.flag('upsert')) {
      const collection = existing ?? catalog.open(request.database, name);
      const id = upsert(collection, filter, change, now())['_id'] ?? null;
      matched++;
      upserted.push({ index, _id: id });
    }
  });
  return { fields: { n: matched, nModified: modified, ...(upserted.length > 0 && { upserted }), ...writeErrors } };
}

function remove(request: Request, { catalog }: CommandContext): Reply {
  const fields = commandFields(request, ['deletes', 'ordered']);
  const name = collectionName(request);
  const statements = batchOf(fields.docs('deletes'));
  let removed = 0;
  const writeErrors = eachStatement(statements, fields.flag('ordered', true), (doc) => {
    const statement = new Fields('delete.deletes', doc, ['q', 'limit']);
    const filter = compileFilter(requireDoc('q', statement.value('q')));
    const limit = toSafeInteger(statement.value('limit'));
    if (limit !== 0 && limit !== 1) throw new CommandError('FailedToParse', `The limit field in delete objects must be 0 or 1`);
    const collection = catalog.find(request.database, name);
    if (!collection) return;
    for (const one of matchingDocuments(collection, filter, limit === 0, request.timeLimit)) {
      const stored = typeof one === 'number' ? collection.read(one) : one;
      if (!stored) continue;
      collection.remove(stored);
      removed++;
    }
  });
  return { fields: { n: removed, ...writeErrors } };
}

/**
 * What matches, found before anything changes: a document that an update moves within an index is not met twice.
 *
 * @returns the first documents themselves, which need not be read again; of what comes beyond MAX_KEPT_BYTES the records
 */
function matchingDocuments(collection: Collection, filter: Filter, isMulti: boolean, timeLimit: TimeLimit): (number | StoredDocument)[] {
  const found: (number | StoredDocument)[] = [];
  let keptBytes = 0;
  for (const stored of findDocuments(collection, { filter, sort: undefined, limit: isMulti ? undefined : 1, timeLimit })) {
    if (!isMulti) return [stored];
    keptBytes += stored.body.length;
    found.push(keptBytes > MAX_KEPT_BYTES ? stored.record : stored);
  }
  return found;
}

/** Applies an update to one document and stores it, unless nothing changes. */
export function applyUpdate(collection: Collection, stored: StoredDocument, change: Update, now: Date): { doc: Doc; isModified: boolean } {
  const doc = change.apply(stored.doc, { now, isInsert: false });
  checkStorable(doc);
  const body = encodeChecked(doc, 'Location17419');
  if (body.equals(stored.body)) return { doc, isModified: false };
  collection.update(stored, doc, body);
  return { doc, isModified: true };
}

/** @returns the document that was inserted. */
export function upsert(collection: Collection, filter: Filter, change: Update, now: Date): Doc {
  const { complete, body } = prepareInsert(change.apply(upsertBase(filter, change), { now, isInsert: true }));
  collection.insert(complete, body);
  return complete;
}

/** The document with an `_id`, which comes first. @throws CommandError when it cannot be stored. */
function prepareInsert(doc: Doc): { complete: Doc; body: Buffer } {
  const id = getField(doc, '_id') ?? (Object.hasOwn(doc, '_id') ? null : new ObjectId());
  if (Array.isArray(id)) throw new CommandError('InvalidIdField', "The '_id' value cannot be of type array");
  const complete: Doc = { _id: id, ...doc };
  checkStorable(complete);
  return { complete, body: encodeChecked(complete, 'BSONObjectTooLarge') };
}

function encodeChecked(doc: Doc, code: 'BSONObjectTooLarge' | 'Location17419'): Buffer {
  const body = encodeDocument(doc);
  if (body.length > MAX_DOCUMENT_BYTES) {
    throw new CommandError(code, `the document has ${body.length} bytes, which is more than the maximum of ${MAX_DOCUMENT_BYTES}`);
  }
  return body;
}

function batchOf(statements: Doc[]): Doc[] {
  if (statements.length < 1 || statements.length > MAX_WRITE_BATCH) {
    throw new CommandError(
      'InvalidLength',
      `Write batch sizes must be between 1 and ${MAX_WRITE_BATCH}. Got ${statements.length} operations.`,
    );
  }
  return statements;
}

/** Runs each statement; a failed one is reported by its index and, when the batch is ordered, ends it. */
function eachStatement(
  statements: readonly Doc[],
  isOrdered: boolean,
  run: (statement: Doc, index: number) => void,
): { writeErrors?: unknown[] } {
  const writeErrors: unknown[] = [];
  for (const [index, statement] of statements.entries()) {
    try {
      run(statement, index);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      writeErrors.push({ index, code: error.code, errmsg: error.message, ...error.fields });
      if (isOrdered) break;
    }
  }
  return writeErrors.length > 0 ? { writeErrors } : {};
}
