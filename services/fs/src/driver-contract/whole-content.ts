import type { WriteOptions } from './storage-driver.ts';
import { verifiedContent } from './verified-content.ts';

/**
 * All of the content of a write, in memory of its own.
 *
 * @param options.sizeBytes which it has, or it fails. @throws as {@link verifiedContent}
 */
export async function wholeContent(
  content: AsyncIterable<Uint8Array>,
  options: WriteOptions & { readonly sizeBytes: number },
): Promise<Uint8Array> {
  const whole = new Uint8Array(options.sizeBytes);
  let filledBytes = 0;
  for await (const piece of verifiedContent(content, options)) {
    whole.set(piece, filledBytes);
    filledBytes += piece.byteLength;
  }
  return whole;
}
