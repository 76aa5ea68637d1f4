import { compilePipeline } from '../aggregate/pipeline.ts';
import { integerValue, toSafeInteger } from '../bson/arithmetic.ts';
import { encodeDocument, MAX_DOCUMENT_BYTES } from '../bson/decode.ts';
import { type Doc, getField, isDoc, isNumber, type Value } from '../bson/value.ts';
import { countDocuments } from '../plan/count-documents.ts';
import { findDocuments } from '../plan/find-documents.ts';
import { compileFilter } from '../query/filter.ts';
import { type KeyPattern, parseKeyPattern } from '../query/key-pattern.ts';
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
  const compiled = compileFilter(filter);
  const counted = sort === undefined ? countOnly(rest) : undefined;
  if (collection && counted) {
    const n = countDocuments(collection, compiled, counted.most, request.timeLimit);
    const documents = encodeEach(n === 0 ? [] : [counted.show(n)]);
    return { batch: cursors.open(`${request.database}.${name}`, documents, request.timeLimit, batchSize, false) };
  }
  const found = collection ? findDocuments(collection, { filter: compiled, sort, limit: undefined, timeLimit: request.timeLimit }) : [];
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

/** What clients ask for to count documents, perhaps up to a limit: `[{$limit}, {$group: {_id: 1, n: {$sum: 1}}}]`. */
function countOnly(stages: readonly Value[]): { readonly most: number; readonly show: (n: number) => Doc } | undefined {
  const limit = stages.length === 2 ? toSafeInteger(operandOf(stages[0], '$limit')) : undefined;
  const group = stages.length === (limit === undefined ? 1 : 2) ? operandOf(stages.at(-1), '$group') : undefined;
  if (!isDoc(group)) return undefined;
  const { _id: id = null, n: sum, ...others } = group;
  const isOfOnes = isDoc(sum) && Object.keys(sum).length === 1 && toSafeInteger(sum['$sum']) === 1;
  if (!isOfOnes || Object.keys(others).length > 0 || !(id === null || isNumber(id))) return undefined;
  return { most: limit ?? Number.POSITIVE_INFINITY, show: (count) => ({ _id: id, n: integerValue(count) }) };
}

function operandOf(stage: Value | undefined, name: string): Value | undefined {
  return isDoc(stage) ? getField(stage, name) : undefined;
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
