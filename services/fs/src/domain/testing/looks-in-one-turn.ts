import fs from 'node:fs';
import { currentOwner, newOwnedName } from '@wharf/owned-names';
import { onTestFinished, vi } from 'vitest';

/** Until the test ends. @returns the most files of the system that were read in one turn of the event loop: of each name of ours one is, to see whether its process runs */
export function watchLooks(): () => number {
  const read = fs.readFileSync;
  let [most, inThisTurn] = [0, 0];
  const counted = (...call: Parameters<typeof read>) => {
    if (inThisTurn === 0) setImmediate(() => (inThisTurn = 0));
    inThisTurn += 1;
    most = Math.max(most, inThisTurn);
    return read(...call);
  };
  const spy = vi.spyOn(fs, 'readFileSync').mockImplementation(counted as typeof read);
  onTestFinished(() => spy.mockRestore());
  return () => most;
}

/** So many names of processes of this host that have ended. */
export function leftNames(count: number): string[] {
  const gone = { ...currentOwner(), pid: 4_194_305 };
  return Array.from({ length: count }, () => newOwnedName(gone));
}
