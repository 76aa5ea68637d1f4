import { AppError } from '@wharf/errors';

/** A name as it is shown, and what makes it unique. */
interface Username {
  readonly username: string;
  readonly usernameKey: string;
}

const MAX_CHARACTERS = 64;
/** What no name may hold: separators of paths and of `user:password`, and every character that is not to be seen. */
const FORBIDDEN = /[/\\:\p{C}\p{Zl}\p{Zp}]/u;

/**
 * Parses the name of an account. Spaces around it are dropped; what compatibility normalisation makes of it is checked too, so that no
 * look-alike of a forbidden character passes.
 *
 * @throws AppError INVALID_ARGUMENT
 */
export function parseUsername(raw: string): Username {
  if (raw.length > MAX_CHARACTERS * 4) throw tooLong();
  const username = raw.normalize('NFC').trim();
  const usernameKey = usernameKeyOf(username);
  if (username === '' || usernameKey === '') throw new AppError('INVALID_ARGUMENT', 'username is required');
  if (FORBIDDEN.test(username) || FORBIDDEN.test(usernameKey))
    throw new AppError('INVALID_ARGUMENT', 'username must not contain "/", "\\", ":" or control characters');
  if ([...username].length > MAX_CHARACTERS || [...usernameKey].length > MAX_CHARACTERS) throw tooLong();
  return { username, usernameKey };
}

/** The key of a name that somebody gives to log in; undefined when no account can have that name. */
export function findUsernameKey(raw: string): string | undefined {
  try {
    return parseUsername(raw).usernameKey;
  } catch (error) {
    if (AppError.is(error, 'INVALID_ARGUMENT')) return undefined;
    throw error;
  }
}

/** NFKC and case-folded: lower, upper and lower again, so that letters with several forms (ẞ ß ss, both small sigmas) meet. */
function usernameKeyOf(username: string): string {
  return username.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC').trim();
}

const tooLong = () => new AppError('INVALID_ARGUMENT', `username must have 1 to ${MAX_CHARACTERS} characters`);
