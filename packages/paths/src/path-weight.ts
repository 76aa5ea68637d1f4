/** Of a path, in letters, what a cache counts as one: most are shorter. */
const LETTERS = 200;

/** As how many a path or a text counts in a cache that keeps a number of them: paths of 4,000 letters take what twenty others do. */
export function pathWeight(path: string): number {
  return 1 + Math.floor(path.length / LETTERS);
}

/** For a cache whose keys are paths: `max` of those that are not long. */
export function maxPaths(max: number) {
  return { max, maxSize: max, sizeCalculation: (_value: unknown, path: string) => pathWeight(path) };
}
