import { AppError } from '@wharf/errors';
import type { PartSum } from './part-sum.ts';

/** What passed through a content. */
export interface Passed {
  bytes: number;
  readonly sum: PartSum;
}

/** Passes a content on, counted and summed up. @throws AppError INVALID_ARGUMENT: it is longer; before the first byte that is too many */
export async function* counted(
  content: AsyncIterable<Uint8Array>,
  expectedBytes: number,
  passed: Passed,
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of content) {
    if (passed.bytes + chunk.byteLength > expectedBytes)
      throw new AppError('INVALID_ARGUMENT', `this part has ${expectedBytes} bytes, not more`);
    passed.sum.update(chunk);
    passed.bytes += chunk.byteLength;
    yield chunk;
  }
}

/** @throws AppError INVALID_ARGUMENT: another number of bytes */
export function requireLength(bytes: number, expectedBytes: number): void {
  if (bytes !== expectedBytes) throw new AppError('INVALID_ARGUMENT', `this part has ${expectedBytes} bytes, not ${bytes}`);
}
