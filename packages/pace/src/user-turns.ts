import { createKeyedTurns, type KeyedTurns } from './keyed-turns.ts';

/** Runs work of a user, in the order in which it was asked for; of nobody in particular (undefined) at once. */
export type UserTurns = KeyedTurns<number>;

/**
 * Lets one work of each user run at a time. An embedded store answers nobody else while it looks at all that one user has, and a user may ask for that many
 * times at once: so the others have their turns in between.
 */
export const createUserTurns = (): UserTurns => createKeyedTurns<number>();
