import { BSONRegExp, Int32 } from 'bson';
import { calculate } from '../bson/arithmetic.ts';
import { compareValues } from '../bson/compare.ts';
import { showValue } from '../bson/show-value.ts';
import { cloneValue, type Doc, getField, isDoc, isNumber, typeName, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { compileElementTest } from '../query/filter.ts';
import { compilePattern } from '../query/predicate.ts';
import { KEEP, type Modifier } from './modifier.ts';
import { compilePush } from './push.ts';

/** Makes the modifier of one field. @throws CommandError for an operand that the operator does not take. */
export type ModifierFactory = (path: string, operand: Value) => Modifier;

/** All update operators but `$rename`, which concerns two fields. */
export const MODIFIERS: ReadonlyMap<string, ModifierFactory> = new Map<string, ModifierFactory>([
  ['$set', (_path, operand) => () => cloneValue(operand)],
  ['$setOnInsert', (_path, operand) => () => cloneValue(operand)],
  ['$unset', () => (current) => (current === undefined ? KEEP : undefined)],
  ['$inc', (path, operand) => arithmetic('$inc', 'add', path, operand)],
  ['$mul', (path, operand) => arithmetic('$mul', 'multiply', path, operand)],
  ['$min', (_path, operand) => extreme(operand, -1)],
  ['$max', (_path, operand) => extreme(operand, 1)],
  ['$currentDate', currentDate],
  ['$push', compilePush],
  ['$addToSet', addToSet],
  ['$pull', pull],
  ['$pullAll', pullAll],
  ['$pop', pop],
]);

function arithmetic(name: string, operation: 'add' | 'multiply', path: string, operand: Value): Modifier {
  if (!isNumber(operand)) {
    throw new CommandError('TypeMismatch', `Cannot apply ${name} with a non-numeric argument: {${path}: ${showValue(operand)}}`);
  }
  return (current, context) => {
    if (current === undefined) return operation === 'add' ? operand : (calculate('multiply', operand, new Int32(0)) ?? operand);
    if (!isNumber(current)) {
      throw new CommandError(
        'TypeMismatch',
        `Cannot apply ${name} to a value of non-numeric type. {_id: ${showValue(context.id ?? null)}} has the field '${path}' of non-numeric type ${typeName(current)}`,
      );
    }
    const result = calculate(operation, current, operand);
    if (result === undefined)
      throw new CommandError('BadValue', `Failed to apply ${name} operations to current value: the result does not fit 64 bits`);
    return result;
  };
}

function extreme(operand: Value, sign: 1 | -1): Modifier {
  return (current) => (current === undefined || compareValues(operand, current) * sign > 0 ? cloneValue(operand) : KEEP);
}

function currentDate(path: string, operand: Value): Modifier {
  const type = isDoc(operand) ? getField(operand, '$type') : undefined;
  const isDate = typeof operand === 'boolean' || (isDoc(operand) && Object.keys(operand).length === 1 && type === 'date');
  if (!isDate) throw new CommandError('BadValue', `$currentDate of '${path}' takes true or {$type: 'date'}`);
  return (_current, context) => context.now;
}

function addToSet(path: string, operand: Value): Modifier {
  const additions = readEach(operand);
  return (current) => {
    if (current !== undefined && !Array.isArray(current)) {
      throw new CommandError(
        'BadValue',
        `Cannot apply $addToSet to non-array field. Field named '${path}' has non-array type ${typeName(current)}`,
      );
    }
    const result = [...(current ?? [])];
    for (const addition of additions) {
      if (!result.some((element) => compareValues(element, addition) === 0)) result.push(cloneValue(addition));
    }
    return result.length === current?.length ? KEEP : result;
  };
}

function readEach(operand: Value): readonly Value[] {
  if (!isDoc(operand) || !Object.hasOwn(operand, '$each')) return [operand];
  const each = getField(operand, '$each');
  if (!Array.isArray(each)) throw new CommandError('TypeMismatch', '$each needs an array');
  const other = Object.keys(operand).find((name) => name !== '$each');
  if (other !== undefined) throw new CommandError('BadValue', `Found unexpected fields after $each in $addToSet: ${other}`);
  return each;
}

function pull(path: string, operand: Value): Modifier {
  return remover('$pull', path, pullTest(operand));
}

function pullTest(operand: Value): (element: Value) => boolean {
  if (isDoc(operand)) return compileElementTest(operand, 0);
  if (operand instanceof BSONRegExp) {
    const pattern = compilePattern(operand);
    if (pattern === undefined) throw new CommandError('BadValue', 'the regular expression of $pull is not supported');
    return (element) => typeof element === 'string' && pattern.test(element);
  }
  return (element) => compareValues(element, operand) === 0;
}

function pullAll(path: string, operand: Value): Modifier {
  if (!Array.isArray(operand))
    throw new CommandError('BadValue', `$pullAll requires an array argument but was given a ${typeName(operand)}`);
  return remover('$pullAll', path, (element) => operand.some((unwanted) => compareValues(element, unwanted) === 0));
}

function remover(name: string, path: string, isUnwanted: (element: Value) => boolean): Modifier {
  return (current) => {
    if (current === undefined) return KEEP;
    if (!Array.isArray(current)) throw new CommandError('BadValue', `Cannot apply ${name} to a non-array value at '${path}'`);
    const result = current.filter((element) => !isUnwanted(element));
    return result.length === current.length ? KEEP : result;
  };
}

function pop(path: string, operand: Value): Modifier {
  const end = isNumber(operand) ? Number(operand) : undefined;
  if (end !== 1 && end !== -1) throw new CommandError('FailedToParse', `Expected 1 or -1 for $pop of '${path}'`);
  return (current) => {
    if (current === undefined) return KEEP;
    if (!Array.isArray(current)) {
      throw new CommandError('TypeMismatch', `Path '${path}' contains an element of non-array type '${typeName(current)}'`);
    }
    if (current.length === 0) return KEEP;
    return end === 1 ? current.slice(0, -1) : current.slice(1);
  };
}

/** Fields of an update operator's document. @throws CommandError FailedToParse when it is none. */
export function modifierFields(name: string, operand: Value | undefined): Doc {
  if (!isDoc(operand)) {
    throw new CommandError('FailedToParse', `Modifiers operate on fields but we found type ${typeName(operand)} instead: {${name}: ...}`);
  }
  return operand;
}
