import { constants } from 'node:os';

/** What the system calls its numbers: Node has no name for some, such as EDQUOT (the quota of a disk) and ESTALE (a share whose server began anew). */
const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(constants.errno).map(([name, number]) => [-number, name]));

/** `ENOENT` and the like, of an error of the system; of any other error its own code, if it has one. */
export function systemCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && typeof error.code === 'string')) return undefined;
  // For those without a name Node says `UNKNOWN`, or a sentence.
  const number = 'errno' in error && !/^E[A-Z\d]+$/.test(error.code) ? error.errno : undefined;
  return (typeof number === 'number' ? NAMES.get(number) : undefined) ?? error.code;
}
