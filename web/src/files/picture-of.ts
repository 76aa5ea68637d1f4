import { bytesOf } from './actions.ts';
import type { Desk } from './desk.ts';
import { viewOf } from './file-kind.ts';
import { type Entry, extensionOf } from './sort-entries.ts';

/**
 * A picture of at most so many bytes stands for itself where the storage makes no thumbnails; not one of drawing commands, a few hundred of which
 * keep a browser from everything else for minutes.
 */
const SMALL_BYTES = 400_000;

/** The address of a small picture of an entry; undefined: there is none. */
export function pictureOf(desk: Desk, entry: Entry): string | undefined {
  if (entry.thumb !== '') {
    // The server's own addresses are taken from where the page came from, whatever the server calls itself.
    const url = URL.parse(entry.thumb, location.href);
    return url?.pathname.startsWith('/d/') ? url.pathname + url.search : entry.thumb;
  }
  const isPixels = viewOf(entry) === 'image' && extensionOf(entry.name) !== 'svg';
  return isPixels && entry.size <= SMALL_BYTES ? bytesOf(desk, entry) : undefined;
}
