import { AsyncLocalStorage } from 'node:async_hooks';
import { storageError } from './storage-error.ts';

/**
 * How many connections of each bounded set of them whoever uses what is open holds meanwhile: who waits for another one while all that a server takes
 * are its own waits for itself.
 */
export const heldWhileOpen = new AsyncLocalStorage<Map<object, number>>();

/** Why what was open ends. One for all: an abort without a reason makes an error each time, with its stack. */
const LEFT = storageError('CANCELLED', new Error('nobody reads it any more'));

/**
 * Uses a content, or several. At the end their sources are let go of in any case: a content that nobody has begun to read is left by its signal alone, as
 * ending an iterator that has not begun runs none of its code.
 *
 * @param open what it opens ends with the signal that it is given
 */
export async function whileOpen<Content, Result>(
  outer: AbortSignal | undefined,
  open: (signal: AbortSignal) => Promise<Content>,
  use: (content: Content) => Promise<Result>,
): Promise<Result> {
  const reading = new AbortController();
  // Cheaper than one signal for both, as there is somebody who lets go.
  const end = () => reading.abort(outer?.reason);
  outer?.addEventListener('abort', end, { once: true });
  if (outer?.aborted) end();
  try {
    return await heldWhileOpen.run(heldWhileOpen.getStore() ?? new Map(), async () => use(await open(reading.signal)));
  } finally {
    outer?.removeEventListener('abort', end);
    reading.abort(LEFT);
  }
}

/**
 * Opens a content for somebody else, who ends it. Where that fails, or what was opened is not wanted, its source is let go of.
 *
 * @param open what it opens ends with the signal that it is given. @returns undefined: it is not wanted
 */
export async function openOrLeave<Content>(
  outer: AbortSignal | undefined,
  open: (signal: AbortSignal) => Promise<Content>,
): Promise<Content> {
  const reading = new AbortController();
  try {
    const content = await open(outer ? AbortSignal.any([outer, reading.signal]) : reading.signal);
    if (content === undefined) reading.abort(LEFT);
    return content;
  } catch (error) {
    reading.abort(LEFT);
    throw error;
  }
}
