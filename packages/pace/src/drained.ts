import type { Writable } from 'node:stream';

/** Resolves when a stream takes more, or has closed. Nothing of the wait stays behind: there may be hundreds of thousands of them on one stream. */
export function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      stream.off('drain', settle).off('close', settle);
      resolve();
    };
    stream.on('drain', settle).on('close', settle);
  });
}
