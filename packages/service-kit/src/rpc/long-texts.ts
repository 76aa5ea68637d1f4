import { takeTurn } from '@wharf/pace';

/**
 * A text of more letters may be a path of so many folders that looking for rules on the way is a long piece of work, which cannot be divided. Such calls come by
 * turns, in each of which one goes on, and those of one owner leave the next to others.
 */
export const LONG_TEXT_LETTERS = 256;

/** Whether one of what a call came with is a long text. */
export function hasLongText(values: readonly unknown[]): boolean {
  return values.some((value) => typeof value === 'string' && value.length > LONG_TEXT_LETTERS);
}

/** Waits for the turn of a call with a long text. @throws the reason of the signal: for who has gone meanwhile nothing is begun */
export async function takeLongTurn(signal: AbortSignal): Promise<void> {
  await takeTurn();
  signal.throwIfAborted();
}
