import { AppError } from '@wharf/errors';

/** A message that a request must have. @throws AppError INVALID_ARGUMENT */
export function required<Value>(value: Value | null, field: string): Value {
  if (value === null) throw new AppError('INVALID_ARGUMENT', `${field} is required`, { details: { field } });
  return value;
}
