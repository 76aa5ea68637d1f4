import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';

/**
 * Writes content to a response as fast as the client takes it, and fetches the next chunk while one is on its way. Does not end the
 * response. A client that goes away ends the content through the call's signal.
 *
 * @param sizeBytes what the headers announced. @throws AppError CONTENT_CORRUPT when the content has another size: the response must be cut
 * off then, or the client waits for the rest
 */
export async function sendContent(response: ServerResponse, content: AsyncIterable<Uint8Array>, sizeBytes: number): Promise<void> {
  let drained: Promise<unknown> | undefined;
  let sentBytes = 0;
  for await (const chunk of content) {
    sentBytes += chunk.byteLength;
    if (sentBytes > sizeBytes) break;
    await drained;
    drained = response.write(chunk) ? undefined : drainOf(response);
  }
  await drained;
  if (sentBytes !== sizeBytes) throw new AppError('CONTENT_CORRUPT', 'the file has another size than announced');
}

/** Resolves when more may be written, or when nobody reads any more. */
function drainOf(response: ServerResponse): Promise<unknown> {
  if (response.destroyed) return Promise.resolve();
  const settled = new AbortController();
  const { signal } = settled;
  return Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })])
    .catch(() => undefined)
    .finally(() => settled.abort());
}
