import { AppError } from '@wharf/errors';
import { usernameKeyOf } from '@wharf/rights';

/** A name as it is shown, and what makes it unique. */
interface Username {
  readonly username: string;
  readonly usernameKey: string;
}

const MAX_CHARACTERS = 64;
/** What no name may hold: separators of paths and of `user:password`, and what directs others or is none. */
const FORBIDDEN = /[/\\:\p{C}\p{Zl}\p{Zp}]/u;
/** What no new name may hold, either: a name with them looks like the one without. The last is a sign of braille without a dot. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\u2800]/u;

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

/** Refuses a name that an account is to get where it holds what is not to be seen; names that are there are taken as they are. @throws AppError INVALID_ARGUMENT */
export function requireVisible(username: string): void {
  if (UNSEEN.test(username)) throw new AppError('INVALID_ARGUMENT', 'username must not contain characters that are not to be seen');
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

const tooLong = () => new AppError('INVALID_ARGUMENT', `username must have 1 to ${MAX_CHARACTERS} characters`);
