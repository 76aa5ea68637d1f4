import { createHash } from 'node:crypto';
import { AppError } from '@wharf/errors';
import type { z } from 'zod';

/** 128 bits, of which nobody finds two that are alike: there may be ten thousand of them in one removal. */
const MARK_BYTES = 16;

/**
 * Tells one place of a server from every other one, and nothing else of it. Kept with a removal that has begun: while that waits, the storage, or one below
 * it, may be saved with another server, bucket or folder.
 */
export function placeMark(...place: readonly (string | number)[]): string {
  return createHash('sha256').update(JSON.stringify(place)).digest().subarray(0, MARK_BYTES).toString('base64url');
}

/** The answer where a removal would go on in what nobody asked to remove, or where it cannot be told whether it would. */
export function beganElsewhere(cause?: unknown): AppError {
  const text = 'the storage may show another place than that in which this removal began: remove once more what is still to go';
  return new AppError('FAILED_PRECONDITION', text, { cause });
}

/** What a driver said of a removal that has begun. @throws AppError FAILED_PRECONDITION: another driver said it */
export function readBegun<Shape extends z.ZodType>(shape: Shape, text: string): z.output<Shape> {
  try {
    return shape.parse(JSON.parse(text));
  } catch (error) {
    throw beganElsewhere(error);
  }
}
