import { compareNames } from '@wharf/paths';
import type { SearchAnswer, SearchHit, SearchQuery } from './search-index.ts';

/** Counts hits and keeps those that may be on the wanted page. */
export interface HitCollector {
  add(hit: SearchHit): void;
  answer(): SearchAnswer;
}

/** This many hits beyond the wanted page are collected; then those that are not needed are dropped. */
const SLACK = 500;
const SURROGATE = /[\ud800-\udfff]/;

/** @param query.page together with `perPage` says how many hits have to be kept: what comes before the page, and the page. */
export function createHitCollector({ page, perPage }: Pick<SearchQuery, 'page' | 'perPage'>): HitCollector {
  const wanted = page * perPage;
  let kept: SearchHit[] = [];
  let last: SearchHit | undefined;
  let total = 0;
  /** Without surrogates the built-in order of texts is that of their bytes. */
  let isPlain = true;
  const compare = (left: SearchHit, right: SearchHit): number => (isPlain ? comparePlain(left, right) : compareHits(left, right));
  const prune = () => {
    kept.sort(compare);
    if (kept.length < wanted) return;
    kept = kept.slice(0, wanted);
    last = kept.at(-1);
  };
  return {
    add(hit) {
      total += 1;
      if (isPlain && (SURROGATE.test(hit.name) || SURROGATE.test(hit.parent))) isPlain = false;
      if (last && compare(hit, last) >= 0) return;
      kept.push(hit);
      if (kept.length >= wanted + SLACK) prune();
    },
    answer() {
      prune();
      return { hits: kept.slice(wanted - perPage, wanted), total };
    },
  };
}

function comparePlain(left: SearchHit, right: SearchHit): number {
  if (left.name !== right.name) return left.name < right.name ? -1 : 1;
  return left.parent < right.parent ? -1 : left.parent > right.parent ? 1 : 0;
}

function compareHits(left: SearchHit, right: SearchHit): number {
  return compareNames(left.name, right.name) || compareNames(left.parent, right.parent);
}
