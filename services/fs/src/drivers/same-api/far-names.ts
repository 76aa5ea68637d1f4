import { currentOwner, newOwnedName, OWNED_NAME, ownerOf, type ProcessOwner } from '@wharf/owned-names';
import type { MountPath } from '@wharf/paths';

/** Not the name that our own storages keep to themselves: the other gateway may be one of ours, and would refuse it. */
const PREFIX = '.wharf-far-';
/** The clocks of both sides differ, and what was begun elsewhere may still go on. */
const MAX_AGE_MS = 48 * 60 * 60 * 1000;

/** Names of what is on its way at the other gateway: not shown, reached or made by calls. */
export class FarNames {
  readonly #owner: ProcessOwner = currentOwner();

  next(): string {
    return PREFIX + newOwnedName(this.#owner);
  }

  /** Whether what has this name was left there: by a process of this host that has ended, or by somebody long ago. */
  isLeft(name: string, modifiedMs: number): boolean {
    const state = ownerOf(name.slice(PREFIX.length), this.#owner);
    return state === 'gone' || (state === 'elsewhere' && Date.now() - modifiedMs > MAX_AGE_MS);
  }
}

export function isFarName(name: string): boolean {
  return name.startsWith(PREFIX) && OWNED_NAME.test(name.slice(PREFIX.length));
}

export function isFarPath(path: MountPath): boolean {
  return path.includes(`/${PREFIX}`) && path.split('/').some(isFarName);
}
