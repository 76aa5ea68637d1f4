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
  try {
    return await use(await open(endingWith(outer, reading.signal)));
  } finally {
    reading.abort();
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
    const content = await open(endingWith(outer, reading.signal));
    if (content === undefined) reading.abort();
    return content;
  } catch (error) {
    reading.abort();
    throw error;
  }
}

function endingWith(outer: AbortSignal | undefined, own: AbortSignal): AbortSignal {
  return outer ? AbortSignal.any([outer, own]) : own;
}
