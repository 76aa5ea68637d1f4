import { createGate, type Gate } from './gate.ts';

/** Runs work of a user, or of an address, in the order in which it was asked for; of nobody in particular (undefined) at once. */
export type UserTurns = <Result>(user: number | string | undefined, work: () => Promise<Result>) => Promise<Result>;

/**
 * Lets one work of each user run at a time. An embedded store answers nobody else while it looks at all that one user has, and a user may ask for that many
 * times at once: so the others have their turns in between.
 */
export function createUserTurns(): UserTurns {
  const gates = new Map<number | string, Gate>();
  return async (user, work) => {
    if (user === undefined) return work();
    const gate = gates.get(user) ?? createGate(1);
    gates.set(user, gate);
    try {
      return await gate.run(work);
    } finally {
      if (gate.isIdle()) gates.delete(user);
    }
  };
}
