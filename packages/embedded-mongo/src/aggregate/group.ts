import { Double, Int32 } from 'bson';
import { NumberSum, toNumber } from '../bson/arithmetic.ts';
import { compareValues } from '../bson/compare.ts';
import { valueIdentity } from '../bson/key-encoding.ts';
import { type Doc, isDoc, isNumber, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { compileExpression, type Expression } from '../expression/expression.ts';
import type { MemoryBudget } from './memory-budget.ts';

interface Accumulator {
  readonly add: (value: Value | undefined) => void;
  readonly result: () => Value;
}

/** Makes an accumulator for one group. */
type AccumulatorFactory = (budget: MemoryBudget) => Accumulator;

const ACCUMULATORS: ReadonlyMap<string, AccumulatorFactory> = new Map<string, AccumulatorFactory>([
  ['$sum', sum],
  ['$avg', average],
  ['$min', () => extreme(-1)],
  ['$max', () => extreme(1)],
  ['$first', first],
  ['$last', last],
  ['$push', push],
  ['$addToSet', addToSet],
  ['$count', sum],
]);

interface GroupField {
  readonly name: string;
  readonly expression: Expression;
  readonly create: AccumulatorFactory;
}

/** @throws CommandError Location15952 for an unknown accumulator, Location15955 without `_id`. */
export function compileGroup(spec: Value, budget: MemoryBudget): (input: Iterable<Doc>, now: Date) => Generator<Doc> {
  if (!isDoc(spec)) throw new CommandError('Location15947', "a group's fields must be specified in an object");
  if (!Object.hasOwn(spec, '_id')) throw new CommandError('Location15955', 'a group specification must include an _id');
  const id = compileExpression(spec['_id'] ?? null);
  const fields = Object.entries(spec).flatMap(([name, value]) => (name === '_id' ? [] : [readField(name, value)]));
  return function* group(input, now) {
    const groups = new Map<string, { id: Value; accumulators: Accumulator[] }>();
    for (const root of input) {
      const groupId = id({ root, now }) ?? null;
      const identity = valueIdentity(groupId);
      let entry = groups.get(identity);
      if (entry === undefined) {
        budget.take(groupId);
        entry = { id: groupId, accumulators: fields.map((field) => field.create(budget)) };
        groups.set(identity, entry);
      }
      for (const [i, field] of fields.entries()) entry.accumulators[i]?.add(field.expression({ root, now }));
    }
    for (const entry of groups.values()) {
      const result: Doc = { _id: entry.id };
      for (const [i, field] of fields.entries()) result[field.name] = entry.accumulators[i]?.result() ?? null;
      yield result;
    }
  };
}

function readField(name: string, value: Value): GroupField {
  if (name.includes('.')) throw new CommandError('Location40235', `The field name '${name}' cannot contain '.'`);
  if (name.startsWith('$')) throw new CommandError('Location40236', `The field name '${name}' cannot be an operator name`);
  const [operator, ...others] = isDoc(value) ? Object.keys(value) : [];
  if (!isDoc(value) || operator === undefined) throw new CommandError('Location40234', `The field '${name}' must be an accumulator object`);
  if (others.length > 0) throw new CommandError('Location40238', `The field '${name}' must specify one accumulator`);
  const create = ACCUMULATORS.get(operator);
  if (!create) throw new CommandError('Location15952', `unknown group operator '${operator}'`);
  const operand = value[operator] ?? null;
  if (operator === '$count') {
    if (!isDoc(operand) || Object.keys(operand).length > 0)
      throw new CommandError('TypeMismatch', '$count takes no arguments, i.e. $count:{}');
    return { name, expression: () => new Int32(1), create };
  }
  if (Array.isArray(operand)) throw new CommandError('Location40237', `The ${operator} accumulator is a unary operator`);
  return { name, expression: compileExpression(operand), create };
}

function sum(): Accumulator {
  const total = new NumberSum();
  return {
    add: (value) => {
      if (isNumber(value)) total.add(value);
    },
    result: () => total.result(),
  };
}

function average(): Accumulator {
  const total = new NumberSum();
  let count = 0;
  return {
    add: (value) => {
      if (!isNumber(value)) return;
      total.add(value);
      count++;
    },
    result: () => (count === 0 ? null : new Double(toNumber(total.result()) / count)),
  };
}

function extreme(sign: 1 | -1): Accumulator {
  let best: Value = null;
  return {
    add: (value) => {
      if (value === undefined || value === null) return;
      if (best === null || compareValues(value, best) * sign > 0) best = value;
    },
    result: () => best,
  };
}

function first(): Accumulator {
  let kept: { value: Value } | undefined;
  return {
    add: (value) => {
      kept ??= { value: value ?? null };
    },
    result: () => kept?.value ?? null,
  };
}

function last(): Accumulator {
  let kept: Value = null;
  return {
    add: (value) => {
      kept = value ?? null;
    },
    result: () => kept,
  };
}

function push(budget: MemoryBudget): Accumulator {
  const values: Value[] = [];
  return {
    add: (value) => {
      if (value === undefined) return;
      budget.take(value);
      values.push(value);
    },
    result: () => values,
  };
}

function addToSet(budget: MemoryBudget): Accumulator {
  const values = new Map<string, Value>();
  return {
    add: (value) => {
      if (value === undefined || values.has(valueIdentity(value))) return;
      budget.take(value);
      values.set(valueIdentity(value), value);
    },
    result: () => [...values.values()],
  };
}
