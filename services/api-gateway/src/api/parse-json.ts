import { AppError } from '@wharf/errors';
import { brokenBound } from '@wharf/pace';

const BOUNDS = { maxDepth: 64, maxValues: 50_000 } as const;

/**
 * Parses JSON whose depth and number of values are bounded; both are counted before anything is made of it.
 *
 * @param bytes UTF-8. @param refusal is said about what is no JSON.
 * @throws AppError INVALID_ARGUMENT
 */
export function parseJson(bytes: Uint8Array, refusal: string): unknown {
  requireBounded(bytes);
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch (cause) {
    throw new AppError('INVALID_ARGUMENT', refusal, { cause });
  }
}

/** @throws AppError INVALID_ARGUMENT when a text would be too deep or too many values as JSON */
export function requireBounded(bytes: Uint8Array): void {
  const broken = brokenBound(bytes, BOUNDS);
  if (broken === 'maxDepth') throw new AppError('INVALID_ARGUMENT', 'the body is nested too deeply');
  if (broken === 'maxValues') throw new AppError('INVALID_ARGUMENT', `the body has more than ${BOUNDS.maxValues} values`);
}
