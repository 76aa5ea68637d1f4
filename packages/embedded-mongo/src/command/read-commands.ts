import { Long } from 'bson';
import { integerValue } from '../bson/arithmetic.ts';
import { encodeDocument, MAX_DOCUMENT_BYTES } from '../bson/decode.ts';
import { valueIdentity } from '../bson/key-encoding.ts';
import { type Doc, isNumber, numeric, type Value } from '../bson/value.ts';
import { countDocuments } from '../plan/count-documents.ts';
import { findDocuments, lookForDocuments } from '../plan/find-documents.ts';
import { compileFilter } from '../query/filter.ts';
import { parseKeyPattern } from '../query/key-pattern.ts';
import { parsePath, someLeaf } from '../query/path.ts';
import { compileProjection } from '../query/projection.ts';
import type { StoredDocument } from '../storage/collection.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext, Handler } from './handler.ts';
import type { Reply } from './reply.ts';
import { collectionName, commandFields, type Request, requireDoc } from './request.ts';

const FIND_FIELDS = ['filter', 'sort', 'projection', 'skip', 'limit', 'batchSize', 'singleBatch', 'allowDiskUse'];
const FIND_REFUSED = ['tailable', 'awaitData', 'oplogReplay', 'noCursorTimeout', 'allowPartialResults', 'returnKey', 'showRecordId'];

export const READ_COMMANDS: Readonly<Record<string, Handler>> = {
  find: { kind: 'read', run: find },
  getMore: { kind: 'cursor', run: getMore },
  killCursors: { kind: 'cursor', run: killCursors },
  count: { kind: 'read', run: count },
  distinct: { kind: 'read', run: distinct },
};

function find(request: Request, { catalog, cursors }: CommandContext): Reply {
  const fields = commandFields(request, [...FIND_FIELDS, ...FIND_REFUSED]);
  for (const refused of FIND_REFUSED) fields.refuseFlag(refused);
  const name = collectionName(request);
  const filter = compileFilter(fields.doc('filter') ?? {});
  const sort = parseKeyPattern(fields.doc('sort') ?? {});
  const projection = compileProjection(fields.doc('projection') ?? {});
  const skip = fields.count('skip') ?? 0;
  const limit = fields.count('limit') || undefined;
  const batchSize = fields.count('batchSize');
  const collection = catalog.find(request.database, name);
  const documents = collection
    ? lookForDocuments(collection, { filter, sort, limit: limit === undefined ? undefined : skip + limit, timeLimit: request.timeLimit })
    : [];
  const encoded = slice(documents, skip, limit, projection ? ({ doc }) => encodeDocument(projection(doc)) : ({ body }) => body);
  return { batch: cursors.open(`${request.database}.${name}`, encoded, request.timeLimit, batchSize, fields.flag('singleBatch')) };
}

/** @param documents undefined for what is not shown, as in the answer */
function* slice<T>(
  documents: Iterable<T | undefined>,
  skip: number,
  limit: number | undefined,
  encode: (document: T) => Buffer,
): Generator<Buffer | undefined> {
  let position = 0;
  const end = limit === undefined ? Number.POSITIVE_INFINITY : skip + limit;
  for (const document of documents) {
    if (document !== undefined) position++;
    yield document === undefined || position <= skip ? undefined : encode(document);
    if (position >= end) return;
  }
}

function getMore(request: Request, { cursors }: CommandContext): Reply {
  const fields = commandFields(request, ['collection', 'batchSize']);
  const id = fields.value('getMore');
  if (!(id instanceof Long)) throw new CommandError('TypeMismatch', "Field 'getMore' must be of type long");
  return { batch: cursors.next(id, `${request.database}.${fields.string('collection')}`, fields.count('batchSize')) };
}

function killCursors(request: Request, { cursors }: CommandContext): Reply {
  const fields = commandFields(request, ['cursors']);
  const name = String(request.body['killCursors']);
  const killed: Long[] = [];
  const unknown: Long[] = [];
  for (const id of fields.array('cursors')) {
    if (!isNumber(id)) throw new CommandError('TypeMismatch', "Field 'cursors' contains an element that is not of type long");
    const long = Long.fromBigInt(BigInt(numeric(id)));
    (cursors.kill(long, `${request.database}.${name}`) ? killed : unknown).push(long);
  }
  return { fields: { cursorsKilled: killed, cursorsNotFound: unknown, cursorsAlive: [], cursorsUnknown: [] } };
}

function count(request: Request, { catalog }: CommandContext): Reply {
  const fields = commandFields(request, ['query', 'limit', 'skip']);
  const collection = catalog.find(request.database, collectionName(request));
  const filter = compileFilter(fields.doc('query') ?? {});
  const skip = fields.count('skip') ?? 0;
  const limit = fields.count('limit') || Number.POSITIVE_INFINITY;
  if (!collection) return { fields: { n: 0 } };
  const found = countDocuments(collection, filter, skip + limit, request.timeLimit);
  return { fields: { n: integerValue(Math.min(limit, Math.max(0, found - skip))) } };
}

function distinct(request: Request, { catalog }: CommandContext): Reply {
  const fields = commandFields(request, ['key', 'query']);
  const path = parsePath(fields.string('key'));
  const query = fields.value('query') ?? null;
  const filter = compileFilter(query === null ? {} : requireDoc('query', query));
  const collection = catalog.find(request.database, collectionName(request));
  const values = new Map<string, Value>();
  let sizeBytes = 0;
  const documents: Iterable<StoredDocument> = collection
    ? findDocuments(collection, { filter, sort: undefined, limit: undefined, timeLimit: request.timeLimit })
    : [];
  for (const { doc } of documents) {
    for (const value of distinctValues(doc, path)) {
      const identity = valueIdentity(value);
      if (values.has(identity)) continue;
      values.set(identity, value);
      sizeBytes += identity.length + 16;
      if (sizeBytes > MAX_DOCUMENT_BYTES) throw new CommandError('Location17217', 'distinct too big, 16mb cap');
    }
  }
  return { fields: { values: [...values.values()] } };
}

/** The elements of an array at the end of the path count, the array itself does not. */
function distinctValues(doc: Doc, path: readonly string[]): Value[] {
  const values: Value[] = [];
  someLeaf(doc, path, (value, isElement) => {
    if (Array.isArray(value) && !isElement) values.push(...value);
    else if (value !== undefined) values.push(value);
    return false;
  });
  return values;
}
