import { AppError } from '@wharf/errors';
import { countJson } from '@wharf/pace';

const BOUNDS = { maxDepth: 64, maxValues: 50_000 } as const;

/**
 * Parses JSON whose depth and number of values are bounded; both are counted before anything is made of it.
 *
 * @param bytes UTF-8. @param refusal is said about what is no JSON. @param onValues is told how many values there are before they are made
 * @throws AppError INVALID_ARGUMENT, and what `onValues` throws
 */
export function parseJson(bytes: Uint8Array, refusal: string, onValues?: (values: number) => void): unknown {
  const values = requireBounded(bytes);
  onValues?.(values);
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch (cause) {
    throw new AppError('INVALID_ARGUMENT', refusal, { cause });
  }
}

/** @returns how many values a text has as JSON. @throws AppError INVALID_ARGUMENT when it would be too deep or too many */
export function requireBounded(bytes: Uint8Array): number {
  const { values, broken } = countJson(bytes, BOUNDS);
  if (broken === 'maxDepth') throw new AppError('INVALID_ARGUMENT', 'the body is nested too deeply');
  if (broken === 'maxValues') throw new AppError('INVALID_ARGUMENT', `the body has more than ${BOUNDS.maxValues} values`);
  return values;
}
