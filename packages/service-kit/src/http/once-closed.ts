import type { ServerResponse } from 'node:http';

/**
 * Runs something when an answer is over or its client gone; at once where that is so already, as it may be behind every `await`. Whoever only listens for
 * `close` would wait for ever then.
 */
export function onceClosed(response: ServerResponse, run: () => void): void {
  if (response.destroyed) run();
  else response.once('close', run);
}
