import { integerValue, toSafeInteger } from '../bson/arithmetic.ts';
import { KeyWriter } from '../bson/key-encoding.ts';
import { type Doc, getField, isDoc, typeName, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import type { TimeLimit } from '../command/time-limit.ts';
import { compileFilter } from '../query/filter.ts';
import { parseKeyPattern, sortKey } from '../query/key-pattern.ts';
import { compileDocumentStage, readStage } from './document-stages.ts';
import { compileGroup } from './group.ts';
import { MemoryBudget } from './memory-budget.ts';
import { compileUnwind } from './unwind.ts';

/** A stage of an aggregation: documents in, documents out, one by one where the stage allows. */
export type Stage = (input: Iterable<Doc>, now: Date) => Iterable<Doc>;

const MAX_STAGES = 1000;

/**
 * Compiles a pipeline.
 *
 * @throws CommandError Location40324 for a stage that is not supported, and the stages' own.
 */
export function compilePipeline(pipeline: readonly Value[], timeLimit: TimeLimit, budget = new MemoryBudget(), isInFacet = false): Stage {
  if (pipeline.length > MAX_STAGES) throw new CommandError('FailedToParse', `a pipeline may have at most ${MAX_STAGES} stages`);
  const stages = pipeline.map((stage) => compileStage(stage, timeLimit, budget, isInFacet));
  // A stage can make many documents of one, so each looks at the clock.
  return (input, now) => stages.reduce((documents, stage) => timeLimit.over(stage(documents, now)), input);
}

function compileStage(source: Value, timeLimit: TimeLimit, budget: MemoryBudget, isInFacet: boolean): Stage {
  const { name, operand } = readStage(source);
  const single = compileDocumentStage(name, operand);
  if (single) {
    return function* each(input, now) {
      for (const doc of input) yield single(doc, now);
    };
  }
  switch (name) {
    case '$match':
      return compileMatch(operand);
    case '$sort':
      return compileSort(operand, budget);
    case '$skip':
      return compileSkip(operand);
    case '$limit':
      return compileLimit(operand);
    case '$group':
      return compileGroup(operand, budget);
    case '$count':
      return compileCount(operand);
    case '$unwind':
      return compileUnwind(operand);
    case '$facet':
      if (isInFacet) throw new CommandError('Location40600', '$facet is not allowed to be used within a $facet stage');
      return compileFacet(operand, timeLimit, budget);
    default:
      throw new CommandError('Location40324', `Unrecognized pipeline stage name: '${name}'`);
  }
}

function compileMatch(operand: Value): Stage {
  if (!isDoc(operand)) throw new CommandError('Location15959', 'the match filter must be an expression in an object');
  const filter = compileFilter(operand);
  return function* match(input) {
    for (const doc of input) if (filter.matches(doc)) yield doc;
  };
}

function compileSort(operand: Value, budget: MemoryBudget): Stage {
  if (!isDoc(operand)) throw new CommandError('Location15973', 'the $sort key specification must be an object');
  const pattern = parseKeyPattern(operand);
  if (pattern.length === 0) throw new CommandError('Location15976', '$sort stage must have at least one sort key');
  return function* sort(input) {
    const writer = new KeyWriter();
    const entries: { doc: Doc; key: Buffer }[] = [];
    for (const doc of input) {
      budget.take(doc);
      entries.push({ doc, key: sortKey(doc, pattern, writer) });
    }
    for (const { doc } of entries.sort((a, b) => Buffer.compare(a.key, b.key))) yield doc;
  };
}

/** @throws CommandError when the stage's operand is no whole number of at least `min`. */
function readStageCount(name: '$skip' | '$limit', operand: Value, min: number): number {
  const count = toSafeInteger(operand);
  if (count === undefined || count < min) {
    const code = name === '$limit' && count === 0 ? 'Location15958' : 'Location5107201';
    throw new CommandError(code, `invalid argument to ${name} stage: it must be a whole number of at least ${min}`);
  }
  return count;
}

function compileSkip(operand: Value): Stage {
  const count = readStageCount('$skip', operand, 0);
  return function* skip(input) {
    let left = count;
    for (const doc of input) {
      if (left > 0) left--;
      else yield doc;
    }
  };
}

function compileLimit(operand: Value): Stage {
  const count = readStageCount('$limit', operand, 1);
  return function* limit(input) {
    let left = count;
    for (const doc of input) {
      yield doc;
      if (--left === 0) return;
    }
  };
}

function compileCount(operand: Value): Stage {
  if (typeof operand !== 'string') throw new CommandError('Location40156', `the count field must be a string, not ${typeName(operand)}`);
  if (operand === '') throw new CommandError('Location40157', 'the count field must not be empty');
  if (operand.startsWith('$')) throw new CommandError('Location40158', 'the count field cannot begin with $');
  if (operand.includes('\0')) throw new CommandError('Location40159', 'the count field cannot contain a zero byte');
  if (operand.includes('.')) throw new CommandError('Location40160', "the count field cannot contain '.'");
  return function* count(input) {
    let documents = 0;
    for (const _doc of input) documents++;
    if (documents > 0) yield { [operand]: integerValue(documents) };
  };
}

function compileFacet(operand: Value, timeLimit: TimeLimit, budget: MemoryBudget): Stage {
  if (!isDoc(operand) || Object.keys(operand).length === 0) {
    throw new CommandError('Location40169', 'the $facet specification must be a non-empty object');
  }
  const facets = Object.keys(operand).map((name) => {
    const pipeline = getField(operand, name);
    if (!Array.isArray(pipeline))
      throw new CommandError('Location40170', `arguments to $facet must be arrays, ${name} is type ${typeName(pipeline)}`);
    return { name, stage: compilePipeline(pipeline, timeLimit, budget, true) };
  });
  return function* facet(input, now) {
    const documents: Doc[] = [];
    for (const doc of input) {
      budget.take(doc);
      documents.push(doc);
    }
    const result: Doc = {};
    for (const { name, stage } of facets) result[name] = [...stage(documents, now)];
    yield result;
  };
}
