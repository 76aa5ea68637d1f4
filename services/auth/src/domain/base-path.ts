import { AppError } from '@wharf/errors';

/** The limits of paths everywhere in the tree, in bytes of UTF-8. */
const MAX_PATH_BYTES = 4_096;
const MAX_SEGMENT_BYTES = 255;

/**
 * The folder that becomes a user's root, as a clean absolute path: `\` counts as `/`, empty and `.` segments vanish, nothing is decoded.
 *
 * @throws AppError UNSAFE_PATH: a `..` segment, a control character, half of a surrogate pair | INVALID_ARGUMENT: too long
 */
export function parseBasePath(raw: string): string {
  const segments = raw
    .replaceAll('\\', '/')
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.');
  if (/\p{Cc}/u.test(raw) || !raw.isWellFormed() || segments.includes('..'))
    throw new AppError('UNSAFE_PATH', 'using relative path is not allowed');
  const path = `/${segments.join('/')}`;
  if (Buffer.byteLength(path) > MAX_PATH_BYTES || segments.some((segment) => Buffer.byteLength(segment) > MAX_SEGMENT_BYTES))
    throw new AppError('INVALID_ARGUMENT', 'base_path is too long');
  return path;
}

/** A folder below another one; both are clean and absolute. */
export function joinBasePath(base: string, path: string): string {
  if (path === '/') return base;
  return base === '/' ? path : base + path;
}
