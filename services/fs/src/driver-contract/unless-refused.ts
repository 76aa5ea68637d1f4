import { AppError } from '@wharf/errors';

/**
 * Does something with all of several, but with those that a check refuses.
 *
 * @param check throws an AppError where one is refused. @returns in their order the answers, and the refusals
 */
export async function unlessRefused<Asked, Answer>(
  asked: readonly Asked[],
  check: (one: Asked) => void,
  run: (rest: readonly Asked[]) => Promise<readonly (Answer | AppError)[]>,
): Promise<readonly (Answer | AppError)[]> {
  const refusals = asked.map((one) => {
    try {
      check(one);
      return undefined;
    } catch (error) {
      return AppError.from(error);
    }
  });
  if (refusals.every((refusal) => refusal === undefined)) return run(asked);
  const rest = asked.filter((_, index) => refusals[index] === undefined);
  const answers = rest.length === 0 ? [] : [...(await run(rest))];
  return refusals.map((refusal) => refusal ?? answers.shift() ?? AppError.from(new Error('an answer is missing')));
}
