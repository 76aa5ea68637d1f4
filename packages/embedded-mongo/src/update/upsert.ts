import { cloneValue, type Doc } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import type { Filter } from '../query/filter.ts';
import { parsePath } from '../query/path.ts';
import { setAt } from './document-path.ts';
import type { Update } from './update.ts';

/**
 * The document an upsert starts from: the filter's equalities; for a replacement only that of `_id`.
 *
 * @throws CommandError NotSingleValueField when the filter names a path twice, or one inside another.
 */
export function upsertBase(filter: Filter, update: Update): Doc {
  const base: Doc = {};
  const taken: string[] = [];
  for (const { path, predicate } of filter.conjuncts) {
    if (predicate.op !== 'eq' || (update.kind === 'replacement' && path !== '_id')) continue;
    const rival = taken.find((other) => other === path || other.startsWith(`${path}.`) || path.startsWith(`${other}.`));
    if (rival !== undefined) {
      throw new CommandError('NotSingleValueField', `cannot infer query fields to set, both paths '${path}' and '${rival}' are matched`);
    }
    taken.push(path);
    setAt(base, parsePath(path), cloneValue(predicate.operand));
  }
  return base;
}
