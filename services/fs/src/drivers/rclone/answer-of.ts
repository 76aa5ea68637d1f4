import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * Waits for the head of an answer, and for the end of a request that has none: Node ends one that is answered with 101, and tells neither an answer
 * nor an error.
 *
 * @throws what sockets throw
 */
export function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.once('response', resolve).on('error', reject);
  request.once('close', () => reject(new Error('closed without an answer')));
  return promise;
}
