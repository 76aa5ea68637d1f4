import { takeTurn } from '@wharf/pace';
import type { Call } from './call.ts';

/**
 * A text of more letters may be a path of so many folders that looking for rules on the way is a long piece of work, which cannot be divided. Such calls come by
 * turns, in each of which one goes on, and those of one owner leave the next to others.
 */
export const LONG_TEXT_LETTERS = 256;

/** Whether one of what a call came with is a long text. */
export function hasLongText(values: readonly unknown[]): boolean {
  return values.some((value) => typeof value === 'string' && value.length > LONG_TEXT_LETTERS);
}

/**
 * Waits for the turn of a call with a long text, which may be long where one owner has many.
 *
 * @returns the call, which tells since when it has waited. @throws the reason of its signal: for who has gone meanwhile nothing is begun
 */
export async function takeLongTurn(call: Call): Promise<Call> {
  const { cameAtMs = performance.now(), signal } = call;
  await takeTurn();
  signal.throwIfAborted();
  return { ...call, cameAtMs };
}
