import { Binary } from 'bson';
import { isDoc, type Value } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';

/** As MongoDB's limit for one blocking stage. */
const MAX_BYTES = 100 * 1024 * 1024;
const SCALAR_BYTES = 32;

/** What the blocking stages of one pipeline may keep in memory. */
export class MemoryBudget {
  #leftBytes = MAX_BYTES;

  /** @throws CommandError QueryExceededMemoryLimitNoDiskUseAllowed */
  take(value: Value): void {
    this.#leftBytes -= estimateBytes(value);
    if (this.#leftBytes < 0)
      throw new CommandError('QueryExceededMemoryLimitNoDiskUseAllowed', 'the pipeline needs more memory than the store allows');
  }
}

function estimateBytes(value: Value): number {
  if (typeof value === 'string') return SCALAR_BYTES + 2 * value.length;
  if (value instanceof Binary) return SCALAR_BYTES + value.length();
  if (Array.isArray(value)) return value.reduce((sum: number, element) => sum + estimateBytes(element), SCALAR_BYTES);
  if (isDoc(value)) return Object.entries(value).reduce((sum, [name, field]) => sum + 2 * name.length + estimateBytes(field), SCALAR_BYTES);
  return SCALAR_BYTES;
}
