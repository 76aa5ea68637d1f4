import { bytesOf } from './actions.ts';
import type { Desk } from './desk.ts';
import { viewOf } from './file-kind.ts';
import type { Entry } from './sort-entries.ts';

/** A picture of at most so many bytes stands for itself where the storage makes no thumbnails. */
const SMALL_BYTES = 400_000;

/** The address of a small picture of an entry; undefined: there is none. */
export function pictureOf(desk: Desk, entry: Entry): string | undefined {
  if (entry.thumb !== '') {
    // The server's own addresses are taken from where the page came from, whatever the server calls itself.
    const url = URL.parse(entry.thumb, location.href);
    return url?.pathname.startsWith('/d/') ? url.pathname + url.search : entry.thumb;
  }
  return viewOf(entry) === 'image' && entry.size <= SMALL_BYTES ? bytesOf(desk, entry) : undefined;
}
