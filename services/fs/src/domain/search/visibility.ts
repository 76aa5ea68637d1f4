import { isWithin, type VirtualPath } from '@wharf/paths';
import { createRuleBookInTurns, type RuleBook } from '../access/rule-book.ts';
import type { SearchQuery, Viewer } from './search-index.ts';

/** Whether an entry of one folder is shown to the viewer. */
export type EntryFilter = (name: string, isDirectory: boolean) => boolean;

const SHOWS_ALL: EntryFilter = () => true;

/**
 * What a viewer is shown of folders: exactly what a listing with the same password would show, and only below the folder that is searched.
 * The answer for a folder is undefined when the viewer is shown nothing of it.
 */
export function createVisibility(
  { parent, viewer }: Pick<SearchQuery, 'parent' | 'viewer'>,
  rules: RuleBook,
): (directory: VirtualPath) => EntryFilter | undefined {
  const { actor, password } = viewer;
  return (directory) => {
    if (!isWithin(parent, directory) || !isWithin(actor.basePath, directory)) return undefined;
    if (!rules.canAccess(actor, directory, password)) return undefined;
    return rules.listingFilter(actor, directory) ?? SHOWS_ALL;
  };
}

/** Compiled rules of viewers; the last ones are kept, since one search follows another. */
export function createRuleBooks(): (viewer: Viewer) => Promise<RuleBook> {
  let last: { rules: Viewer['rules']; book: Promise<RuleBook> } | undefined;
  return ({ rules }) => {
    if (last?.rules !== rules) last = { rules, book: createRuleBookInTurns(rules) };
    return last.book;
  };
}
