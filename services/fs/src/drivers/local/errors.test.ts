import { constants } from 'node:os';
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

it.each([
  ['EDQUOT', 'QUOTA_EXCEEDED'],
  ['ESTALE', 'STORAGE_UNAVAILABLE'],
] as const)('%s is known by its number, as Node has no name for it', (name, code) => {
  const cause = Object.assign(new Error('UNKNOWN: unknown error, write'), { code: 'UNKNOWN', errno: -constants.errno[name] });
  expect(toAppError(cause)).toMatchObject({ code, cause });
});

it('an AppError stays itself, and everything else is INTERNAL', () => {
  const own = new AppError('CANCELLED', 'x');
  expect(toAppError(own)).toBe(own);
  expect(toAppError('text').code).toBe('INTERNAL');
});
