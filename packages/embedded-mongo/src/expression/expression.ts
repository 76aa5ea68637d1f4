import { BSONRegExp } from 'bson';
import { type Doc, getField, isDoc, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { type Path, parsePath } from '../query/path.ts';
import { OPERATORS } from './operators.ts';

/** What an expression is evaluated against. */
export interface Scope {
  readonly root: Doc;
  readonly now: Date;
}

/** Evaluates to a value, or to undefined for a missing field. */
export type Expression = (scope: Scope) => Value | undefined;

const MAX_DEPTH = 100;

/**
 * Compiles an aggregation expression.
 *
 * @throws CommandError InvalidPipelineOperator for an unknown operator, Location17276 for an unknown variable, Location16020 for a wrong
 * number of arguments.
 */
export function compileExpression(source: Value, depth = 0): Expression {
  if (depth > MAX_DEPTH) throw new CommandError('Overflow', 'the expression is nested too deeply');
  if (typeof source === 'string' && source.startsWith('$')) return compileReference(source);
  if (source instanceof BSONRegExp) throw new CommandError('BadValue', 'regular expressions are not supported in expressions');
  if (Array.isArray(source)) {
    const elements = source.map((element) => compileExpression(element, depth + 1));
    return (scope) => elements.map((element) => element(scope) ?? null);
  }
  if (!isDoc(source)) return () => source;
  const [name] = Object.keys(source);
  if (name?.startsWith('$')) return compileOperator(name, source, depth);
  return compileDocument(source, depth);
}

function compileDocument(source: Doc, depth: number): Expression {
  const fields = Object.entries(source).map(([name, value]) => {
    if (name.startsWith('$'))
      throw new CommandError('Location16410', `the field name '${name}' may not begin with '$' in an object expression`);
    if (name.includes('.')) throw new CommandError('Location16410', `the field name '${name}' may not contain '.' in an object expression`);
    return { name, expression: compileExpression(value, depth + 1) };
  });
  return (scope) => {
    const result: Doc = {};
    for (const { name, expression } of fields) {
      const value = expression(scope);
      if (value !== undefined) result[name] = value;
    }
    return result;
  };
}

function compileOperator(name: string, source: Doc, depth: number): Expression {
  if (Object.keys(source).length !== 1)
    throw new CommandError('Location15981', 'an object representing an expression must have exactly one field');
  const operand = getField(source, name) ?? null;
  if (name === '$literal') return () => operand;
  if (name === '$cond') return compileCondition(operand, depth);
  const operator = OPERATORS.get(name);
  if (!operator) throw new CommandError('InvalidPipelineOperator', `Unrecognized expression '${name}'`);
  const sources = Array.isArray(operand) ? operand : [operand];
  const { min, max } = operator.counts;
  if (sources.length < min || sources.length > max) {
    const wanted = min === max ? `exactly ${min}` : `at least ${min}`;
    throw new CommandError('Location16020', `Expression ${name} takes ${wanted} arguments. ${sources.length} were passed in.`);
  }
  const args = sources.map((argument) => compileExpression(argument, depth + 1));
  return (scope) => operator.evaluate(args.map((argument) => () => argument(scope)));
}

function compileCondition(operand: Value, depth: number): Expression {
  let parts: readonly (Value | undefined)[];
  if (isDoc(operand)) {
    const unknown = Object.keys(operand).find((name) => name !== 'if' && name !== 'then' && name !== 'else');
    if (unknown !== undefined) throw new CommandError('BadValue', `Unrecognized parameter to $cond: ${unknown}`);
    parts = [getField(operand, 'if'), getField(operand, 'then'), getField(operand, 'else')];
  } else parts = Array.isArray(operand) ? operand : [operand];
  const compiled = parts.flatMap((part) => (part === undefined ? [] : [compileExpression(part, depth + 1)]));
  const [condition, yes, no] = compiled;
  if (!condition || !yes || !no || compiled.length !== 3) {
    throw new CommandError('Location16020', `Expression $cond takes exactly 3 arguments. ${compiled.length} were passed in.`);
  }
  return (scope) => (isTrue(condition(scope)) ? yes(scope) : no(scope));
}

/** Null, missing, false and zero are false. */
function isTrue(value: Value | undefined): boolean {
  return OPERATORS.get('$not')?.evaluate([() => value]) === false;
}

function compileReference(source: string): Expression {
  if (!source.startsWith('$$')) {
    const path = fieldPath(source.slice(1));
    return ({ root }) => follow(root, path, 0);
  }
  const [variable = '', ...rest] = source.slice(2).split('.');
  const path = rest.length === 0 ? [] : fieldPath(rest.join('.'));
  switch (variable) {
    case 'NOW':
      if (path.length > 0) return () => undefined;
      return ({ now }) => now;
    case 'ROOT':
    case 'CURRENT':
      return ({ root }) => follow(root, path, 0);
    case 'REMOVE':
      return () => undefined;
    default:
      throw new CommandError('Location17276', `Use of undefined variable: ${variable}`);
  }
}

function fieldPath(text: string): Path {
  try {
    return parsePath(text);
  } catch (error) {
    if (error instanceof CommandError) throw new CommandError('Location16410', error.message);
    throw error;
  }
}

/** A field path in an expression maps over the documents of an array, not over arrays in it; an index is no part of it. */
function follow(value: Value | undefined, path: Path, from: number): Value | undefined {
  if (from === path.length) return value;
  if (isDoc(value)) return follow(getField(value, path[from] ?? ''), path, from + 1);
  if (!Array.isArray(value)) return undefined;
  return value.flatMap((element) => {
    if (!isDoc(element)) return [];
    const found = follow(element, path, from);
    return found === undefined ? [] : [found];
  });
}
