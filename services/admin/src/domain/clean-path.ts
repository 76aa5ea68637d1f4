import { AppError } from '@wharf/errors';

/** The usual PATH_MAX and NAME_MAX: a longer path reaches no file system. */
const MAX_PATH_BYTES = 4_096;
const MAX_NAME_BYTES = 255;

// biome-ignore lint/suspicious/noControlCharactersInRegex: to find them is the purpose.
const CONTROL = /[\u0000-\u001f]/;

/**
 * A path of the tree in the one form that is stored and compared: absolute, "/" between segments, no empty or "." segment, no trailing "/"
 * but for the root. It reads the same texts in the same way as the paths of requests are read in fs; nothing is percent-decoded.
 *
 * @param field names the input in errors.
 * @throws AppError INVALID_ARGUMENT (empty, or too long) | UNSAFE_PATH (a ".." segment, a control character, half of a surrogate pair)
 */
export function cleanPath(raw: string, field: string): string {
  if (raw === '') throw new AppError('INVALID_ARGUMENT', `${field} is required`, { details: { field } });
  if (CONTROL.test(raw) || !raw.isWellFormed()) throw unsafe(field);
  const segments = raw
    .replaceAll('\\', '/')
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) throw unsafe(field);
  const path = `/${segments.join('/')}`;
  if (Buffer.byteLength(path) > MAX_PATH_BYTES || segments.some((segment) => Buffer.byteLength(segment) > MAX_NAME_BYTES))
    throw new AppError('INVALID_ARGUMENT', `${field} is too long`, { details: { field } });
  return path;
}

function unsafe(field: string): AppError {
  return new AppError('UNSAFE_PATH', 'using relative path is not allowed', { details: { field } });
}
