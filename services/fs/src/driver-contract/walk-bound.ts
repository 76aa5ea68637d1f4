import { AppError } from '@wharf/errors';

/**
 * Entries that one walk through a tree looks at, in whatever storage: a server may tell of folders without end, and what waits on the way
 * takes some 60 bytes for each. Trees of people have fewer.
 */
export const MAX_WALKED_ENTRIES = 5_000_000;

/** Counts what a walk finds. @returns to be called with the entries of each folder. @throws AppError FAILED_PRECONDITION beyond the bound */
export function createWalkBound(maxEntries = MAX_WALKED_ENTRIES): (entries: number) => void {
  let seen = 0;
  return (entries) => {
    seen += entries;
    if (seen > maxEntries) throw tooMany(maxEntries);
  };
}

/** What is said of a tree beyond the bound. */
export function tooMany(maxEntries = MAX_WALKED_ENTRIES): AppError {
  return new AppError('FAILED_PRECONDITION', `the tree has over ${maxEntries} entries, or does not end: name a part of it`);
}

/** What is said where the folders of a tree take more memory than one walk may. */
export function tooManyFolders(): AppError {
  return new AppError('FAILED_PRECONDITION', 'the tree has more folders than one walk remembers, or does not end: name a part of it');
}
