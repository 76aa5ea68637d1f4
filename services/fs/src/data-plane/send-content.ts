import type { ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';

/**
 * Writes content to a response as fast as the client takes it: the next chunk is asked for when one has left the process, for
 * chunks are only lent. Does not end the response. A client that goes away ends the content through the call's signal.
 *
 * @param sizeBytes what the headers announced; undefined: nothing. @throws AppError CONTENT_CORRUPT when the content has another size: the response must be cut
 * off then, or the client waits for the rest
 */
export async function sendContent(
  response: ServerResponse,
  content: AsyncIterable<Uint8Array>,
  sizeBytes: number | undefined,
): Promise<void> {
  let sentBytes = 0;
  for await (const chunk of content) {
    sentBytes += chunk.byteLength;
    if (sizeBytes !== undefined && sentBytes > sizeBytes) break;
    await send(response, chunk);
  }
  if (sizeBytes !== undefined && sentBytes !== sizeBytes) throw new AppError('CONTENT_CORRUPT', 'the file has another size than announced');
}

/** Resolves when the system has taken the chunk, or when nobody reads any more. */
function send(response: ServerResponse, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) return resolve();
    response.once('close', resolve);
    response.write(chunk, () => {
      response.off('close', resolve);
      resolve();
    });
  });
}
