import { compilePipeline } from '../aggregate/pipeline.ts';
import { encodeDocument, MAX_DOCUMENT_BYTES } from '../bson/decode.ts';
import { type Doc, getField, isDoc, isNumber, type Value } from '../bson/value.ts';
import { countByKeys, findDocuments } from '../plan/find-documents.ts';
import { compileFilter, type Filter } from '../query/filter.ts';
import { type KeyPattern, parseKeyPattern } from '../query/key-pattern.ts';
import type { Collection } from '../storage/collection.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext, Handler } from './handler.ts';
import type { Reply } from './reply.ts';
import { collectionName, commandFields, Fields, type Request } from './request.ts';

export const AGGREGATE: Handler = { kind: 'read', run: aggregate };

function aggregate(request: Request, { catalog, cursors, now }: CommandContext): Reply {
  const fields = commandFields(request, ['pipeline', 'cursor', 'allowDiskUse', 'bypassDocumentValidation']);
  const name = collectionName(request);
  const pipeline = fields.array('pipeline');
  const options = fields.doc('cursor');
  if (!options) throw new CommandError('FailedToParse', "The 'cursor' option is required, except for aggregate with the explain argument");
  const batchSize = new Fields('aggregate.cursor', options, ['batchSize']).count('batchSize');
  // The whole pipeline is compiled to find its errors. The stages that the planner takes over are not run.
  compilePipeline(pipeline, request.timeLimit);
  const { filter, sort, rest } = leadingStages(pipeline);
  const run = compilePipeline(rest, request.timeLimit);
  const collection = catalog.find(request.database, name);
  const found = collection
    ? (counted(collection, compileFilter(filter), rest) ??
      findDocuments(collection, { filter: compileFilter(filter), sort, limit: undefined, timeLimit: request.timeLimit }))
    : [];
  const documents = encodeEach(run(documentsOf(found), now()));
  return { batch: cursors.open(`${request.database}.${name}`, documents, request.timeLimit, batchSize, false) };
}

interface LeadingStages {
  readonly filter: Doc;
  readonly sort: KeyPattern | undefined;
  readonly rest: readonly Value[];
}

/** The first stages of a pipeline in the form of a find, so that indexes can serve them. */
function leadingStages(pipeline: readonly Value[]): LeadingStages {
  const filters: Doc[] = [];
  let taken = 0;
  for (const stage of pipeline) {
    const filter = isDoc(stage) ? getField(stage, '$match') : undefined;
    if (!isDoc(filter)) break;
    filters.push(filter);
    taken++;
  }
  const next = pipeline[taken];
  const order = isDoc(next) ? getField(next, '$sort') : undefined;
  if (isDoc(order)) taken++;
  const [first] = filters;
  return {
    filter: filters.length > 1 ? { $and: filters } : (first ?? {}),
    sort: isDoc(order) ? parseKeyPattern(order) : undefined,
    rest: pipeline.slice(taken),
  };
}

/** As many documents as match, with nothing in them: for stages that ask how many there are and nothing else. Undefined: they have to be read. */
function counted(collection: Collection, filter: Filter, stages: readonly Value[]): Iterable<{ doc: Doc }> | undefined {
  const asksForNoField =
    stages.at(-1) !== undefined && stages.every((stage, i) => (i < stages.length - 1 ? isSlice(stage) : isCount(stage)));
  const count = asksForNoField ? countByKeys(collection, filter) : undefined;
  return count === undefined ? undefined : repeat({ doc: {} }, count);
}

function isSlice(stage: Value): boolean {
  return isDoc(stage) && (Object.hasOwn(stage, '$skip') || Object.hasOwn(stage, '$limit'));
}

/** As drivers count: `{$group: {_id: 1, n: {$sum: 1}}}`. */
function isCount(stage: Value): boolean {
  const group = isDoc(stage) ? getField(stage, '$group') : undefined;
  if (!isDoc(group)) return false;
  const isSumOfNumber = (sum: Value) => isDoc(sum) && Object.keys(sum).length === 1 && isNumber(getField(sum, '$sum') ?? null);
  return Object.entries(group).every(([name, value]) => (name === '_id' ? isNumber(value) : isSumOfNumber(value)));
}

function* repeat<T>(value: T, count: number): Generator<T> {
  for (let i = 0; i < count; i += 1) yield value;
}

function* documentsOf(found: Iterable<{ doc: Doc }>): Generator<Doc> {
  for (const { doc } of found) yield doc;
}

function* encodeEach(documents: Iterable<Doc>): Generator<Buffer> {
  for (const document of documents) {
    const bytes = encodeDocument(document);
    if (bytes.length > MAX_DOCUMENT_BYTES)
      throw new CommandError('BSONObjectTooLarge', `a result has ${bytes.length} bytes, more than the maximum`);
    yield bytes;
  }
}
