/** What aria2 puts behind the name of a result for what it keeps of it. */
export const CONTROL_ENDING = '.aria2';
/** What aria2 calls the descriptions that it was given, or found by a magnet link. */
export const DESCRIPTION_NAME = /^[0-9a-f]{40}\.(?:torrent|meta4|metalink)$/;

/** Whether a file of a metalink could be taken for one that aria2 keeps for itself. @param path as the metalink has it */
export function isLikeOwn(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1).trim();
  return name.toLowerCase().endsWith(CONTROL_ENDING) || DESCRIPTION_NAME.test(name);
}
