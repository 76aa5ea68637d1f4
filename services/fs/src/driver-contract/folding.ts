import { AppError } from '@wharf/errors';

/** The same name with each letter in the other case; undefined for one without letters. */
export function otherCase(name: string): string | undefined {
  const other = name.replace(/[a-z]|([A-Z])/g, (letter, upper) => (upper === undefined ? letter.toUpperCase() : letter.toLowerCase()));
  return other === name ? undefined : other;
}

/** A driver that knows names by their own spelling only must not open such a storage: rules on paths would be passed by in other spellings. */
export function foldsCase(): AppError {
  return new AppError(
    'FAILED_PRECONDITION',
    'this server does not tell upper from lower case: path rules would not hold, so it is not mounted. Use a folder or a bucket that does',
  );
}
