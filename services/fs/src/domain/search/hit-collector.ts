import { compareNames } from '@wharf/paths';
import type { SearchAnswer, SearchHit, SearchQuery } from './search-index.ts';

/** Counts hits and keeps those that may be on the wanted page. */
export interface HitCollector {
  add(hit: SearchHit): void;
  answer(): SearchAnswer;
}

/** More than this beyond the wanted page are not kept before the next look which of them are needed. */
const SLACK = 2_000;

/** @param query.page together with `perPage` says how many hits have to be kept: what comes before the page, and the page. */
export function createHitCollector({ page, perPage }: Pick<SearchQuery, 'page' | 'perPage'>): HitCollector {
  const wanted = page * perPage;
  let kept: SearchHit[] = [];
  let last: SearchHit | undefined;
  let total = 0;
  const prune = () => {
    kept.sort(compareHits);
    if (kept.length < wanted) return;
    kept = kept.slice(0, wanted);
    last = kept.at(-1);
  };
  return {
    add(hit) {
      total += 1;
      if (last && compareHits(hit, last) >= 0) return;
      kept.push(hit);
      if (kept.length >= wanted + SLACK) prune();
    },
    answer() {
      prune();
      return { hits: kept.slice(wanted - perPage, wanted), total };
    },
  };
}

function compareHits(left: SearchHit, right: SearchHit): number {
  return compareNames(left.name, right.name) || compareNames(left.parent, right.parent);
}
