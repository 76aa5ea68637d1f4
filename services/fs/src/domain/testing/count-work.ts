/**
 * Counts characters that a piece of code compares or hashes: keys that it looks up in maps, and prefixes. It tells how work grows, whatever
 * the machine does beside it.
 */
export function countWork(run: () => void): number {
  const { get } = Map.prototype;
  const { startsWith } = String.prototype;
  let work = 0;
  Map.prototype.get = function (this: Map<unknown, unknown>, key: unknown) {
    work += typeof key === 'string' ? key.length + 1 : 1;
    return get.call(this, key);
  };
  String.prototype.startsWith = function (this: string, prefix: string, position?: number) {
    work += prefix.length + 1;
    return startsWith.call(this, prefix, position);
  };
  try {
    run();
  } finally {
    Map.prototype.get = get;
    String.prototype.startsWith = startsWith;
  }
  return work;
}
