import { AppError, type ErrorCode } from '@wharf/errors';

/** Code and message of the AppError that a function throws. */
export function refusal(run: () => unknown): [code: ErrorCode, message: string] {
  try {
    run();
  } catch (error) {
    if (AppError.is(error)) return [error.code, error.message];
    throw error;
  }
  throw new Error('it was not refused');
}

/** The same of a promise. */
export async function refusalOf(call: Promise<unknown>): Promise<[code: ErrorCode, message: string]> {
  const outcome = await call.then(
    () => () => undefined,
    (error: unknown) => () => {
      throw error;
    },
  );
  return refusal(outcome);
}
