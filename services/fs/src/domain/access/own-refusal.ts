import { AppError, type ErrorCode } from '@wharf/errors';

const refusals = new WeakSet<AppError>();

/** A refusal of ours: by a right, a rule, a user's quota or a digest. Storages say no in the same codes, for reasons that may be over in a moment. */
export function ownRefusal(code: ErrorCode, message: string): AppError {
  const refusal = new AppError(code, message);
  refusals.add(refusal);
  return refusal;
}

/** Whether we refused it, and not a storage. */
export function isOwnRefusal(error: unknown): boolean {
  return AppError.is(error) && refusals.has(error);
}
