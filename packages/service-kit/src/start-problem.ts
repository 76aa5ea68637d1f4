import { AppError } from '@wharf/errors';

/**
 * What to do about an error that keeps a process from starting, for the person at the terminal; undefined: nobody foresaw it, and the log has all of it.
 *
 * The names are those of Node (`errno`) and of mongoose.
 */
export function startProblem(error: unknown): string | undefined {
  if (AppError.is(error, 'FAILED_PRECONDITION') || AppError.is(error, 'CONTENT_CORRUPT')) return error.message;
  if (!(error instanceof Error)) return undefined;
  const { code, syscall, address, port, path }: NodeJS.ErrnoException & { address?: string; port?: number } = error;
  if (error.name === 'MongooseServerSelectionError') return `the store does not answer: ${error.message}. Start it, or correct MONGO_URL.`;
  if (syscall === 'listen' && code === 'EADDRINUSE')
    return `port ${port} of ${address} is in use, perhaps by another Wharf. End that program, or choose another port: WHARF_HTTP_PORT is the one of the page.`;
  if (syscall === 'listen' && code === 'EACCES')
    return `port ${port} is kept from this user: choose one from 1024 on (WHARF_HTTP_PORT is the one of the page), or let the system give it.`;
  if (syscall === 'listen' && code === 'EADDRNOTAVAIL')
    return `${address} is no address of this machine: WHARF_HTTP_HOST and WHARF_BIND say which ones are listened on.`;
  if (path !== undefined && FOLDER_CODES.has(code ?? ''))
    return `${path} cannot be used (${error.message}). It has to be a folder that this user may write; WHARF_DATA_DIR and WHARF_FILES_DIR choose others.`;
  return undefined;
}

const FOLDER_CODES = new Set(['EACCES', 'EEXIST', 'ENOENT', 'ENOSPC', 'ENOTDIR', 'EPERM', 'EROFS']);
