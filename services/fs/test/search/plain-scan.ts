import type { EntryName, VirtualPath } from '@wharf/paths';
import { isWithin } from '@wharf/paths';
import { createRuleBook } from '../../src/domain/access/rule-book.ts';
import type { SearchHit, SearchQuery } from '../../src/domain/search/search-index.ts';

/** What a search must answer, found by looking at every entry; written apart from the engines. */
export function plainScan(entries: readonly SearchHit[], keywords: string, query: Omit<SearchQuery, 'words'>) {
  const fold = (text: string) => text.replace(/[A-Z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 32));
  const words = keywords.split(/(?:[^\S\ufeff]|\u0085)+/).filter((word) => word !== '');
  const book = createRuleBook(query.viewer.rules);
  const { actor, password } = query.viewer;
  const visible = entries.filter(({ parent, name, isDirectory }) => {
    if (query.scope !== 'all' && isDirectory !== (query.scope === 'folders')) return false;
    if (!isWithin(query.parent, parent) || !isWithin(actor.basePath, parent)) return false;
    if (!words.every((word) => fold(name).includes(fold(word)))) return false;
    return book.canAccess(actor, parent, password) && (book.listingFilter(actor, parent)?.(name, isDirectory) ?? true);
  });
  const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  visible.sort((a, b) => byBytes(a.name, b.name) || byBytes(a.parent, b.parent));
  const start = (query.page - 1) * query.perPage;
  return { hits: visible.slice(start, start + query.perPage), total: visible.length };
}

export const file = (name: string, sizeBytes = 1) => ({ name: name as EntryName, isDirectory: false, sizeBytes });
export const folder = (name: string) => ({ name: name as EntryName, isDirectory: true, sizeBytes: 0 });
export const path = (text: string) => text as VirtualPath;
