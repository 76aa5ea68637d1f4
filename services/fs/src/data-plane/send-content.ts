import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/**
 * Writes content to a response as fast as the client takes it, and fetches the next chunk while one is on its way. Does not end the
 * response. A client that goes away ends the content through the call's signal.
 */
export async function sendContent(response: ServerResponse, content: AsyncIterable<Uint8Array>): Promise<void> {
  let drained: Promise<unknown> | undefined;
  for await (const chunk of content) {
    await drained;
    drained = response.write(chunk) ? undefined : drainOf(response);
  }
  await drained;
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
