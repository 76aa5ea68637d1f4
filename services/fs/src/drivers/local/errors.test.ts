import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { toAppError } from './errors.ts';

it.each([
  ['ENOENT', 'ENTRY_NOT_FOUND'],
  ['ELOOP', 'ENTRY_NOT_FOUND'],
  ['ENOTDIR', 'NOT_A_DIRECTORY'],
  ['EISDIR', 'IS_A_DIRECTORY'],
  ['EEXIST', 'ENTRY_EXISTS'],
  ['ENOTEMPTY', 'DIRECTORY_NOT_EMPTY'],
  ['EACCES', 'PERMISSION_DENIED'],
  ['EPERM', 'PERMISSION_DENIED'],
  ['EROFS', 'STORAGE_READ_ONLY'],
  ['ENOSPC', 'QUOTA_EXCEEDED'],
  ['EDQUOT', 'QUOTA_EXCEEDED'],
  ['ENAMETOOLONG', 'INVALID_ARGUMENT'],
  ['EINVAL', 'INVALID_ARGUMENT'],
  ['EXDEV', 'UNSUPPORTED_OPERATION'],
  ['EIO', 'STORAGE_UNAVAILABLE'],
  ['EMFILE', 'STORAGE_UNAVAILABLE'],
  ['EWHATEVER', 'INTERNAL'],
  ['toString', 'INTERNAL'],
])('%s is %s, and the path stays in the cause', (errno, code) => {
  const cause = Object.assign(new Error(`${errno}: it failed, open '/secret/place'`), { code: errno });
  const error = toAppError(cause);
  expect(error).toMatchObject({ code, cause });
  expect(error.message).not.toContain('/secret');
});

it('an AppError stays itself, and everything else is INTERNAL', () => {
  const own = new AppError('CANCELLED', 'x');
  expect(toAppError(own)).toBe(own);
  expect(toAppError('text').code).toBe('INTERNAL');
});
