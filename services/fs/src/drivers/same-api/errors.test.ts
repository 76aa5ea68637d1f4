import { expect, it } from 'vitest';
import { isNoStorage } from '../../driver-contract/storage-error.ts';
import { toAppError, toDownloadError, toPictureError, toStatusError } from './errors.ts';

it.each([
  [500, 'ENTRY_NOT_FOUND', 'ENTRY_NOT_FOUND'],
  [500, 'MOUNT_NOT_FOUND', 'ENTRY_NOT_FOUND'],
  [403, 'ENTRY_EXISTS', 'ENTRY_EXISTS'],
  [403, 'UNSAFE_PATH', 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED', 'STORAGE_LOGIN_FAILED'],
  [402, 'OTP_REQUIRED', 'STORAGE_LOGIN_FAILED'],
  [500, 'STORAGE_LOGIN_FAILED', 'STORAGE_UNAVAILABLE'],
  [503, 'OVERLOADED', 'STORAGE_UNAVAILABLE'],
  [429, 'RATE_LIMITED', 'STORAGE_UNAVAILABLE'],
  [500, 'QUOTA_EXCEEDED', 'QUOTA_EXCEEDED'],
  [500, 'CIRCULAR_MOUNT', 'CIRCULAR_MOUNT'],
  [500, 'INTERNAL', 'STORAGE_UNAVAILABLE'],
  [500, 'A_NAME_OF_TOMORROW', 'STORAGE_UNAVAILABLE'],
  [500, 'constructor', 'STORAGE_UNAVAILABLE'],
  [500, '__proto__', 'STORAGE_UNAVAILABLE'],
])('an answer %i that is named %s is %s', (code, name, expected) => {
  expect(toAppError({ code, message: 'whatever', name })).toMatchObject({ code: expected });
});

it.each([
  [500, 'object not found', 'ENTRY_NOT_FOUND'],
  [500, 'failed get objs: failed get dir: object not found', 'ENTRY_NOT_FOUND'],
  [500, 'failed get storage: storage not found; rawPath: /x', 'ENTRY_NOT_FOUND'],
  [500, 'failed get objs: not a folder', 'NOT_A_DIRECTORY'],
  [403, 'file [a] exists', 'ENTRY_EXISTS'],
  [500, 'not implement', 'UNSUPPORTED_OPERATION'],
  [500, 'upload not supported', 'UNSUPPORTED_OPERATION'],
  [401, 'token is expired', 'STORAGE_LOGIN_FAILED'],
  [403, 'permission denied', 'PERMISSION_DENIED'],
  [400, 'EOF', 'INVALID_ARGUMENT'],
  [500, 'something of a driver', 'STORAGE_UNAVAILABLE'],
])('an answer %i without a name that says "%s" is %s', (code, message, expected) => {
  const error = toAppError({ code, message, name: undefined });
  expect(error).toMatchObject({ code: expected });
  // What the other side writes may be anything.
  expect(`${error.message} ${(error.cause as Error).message}`).not.toContain('of a driver');
});

it('a gateway that says when to come again is asked then', () => {
  const error = toAppError({ code: 429, message: '', name: 'RATE_LIMITED', retryAfter: '7' });
  expect(error.details).toEqual({ retryAfterMs: 7_000 });
});

it.each([
  [302, 'FAILED_PRECONDITION'],
  [404, 'FAILED_PRECONDITION'],
  [429, 'STORAGE_UNAVAILABLE'],
  [502, 'STORAGE_UNAVAILABLE'],
])('a status %i in the place of an envelope is %s', (status, expected) => {
  expect(toStatusError(status)).toMatchObject({ code: expected });
});

it.each([
  [401, undefined, 'PERMISSION_DENIED'],
  [404, 'ENTRY_NOT_FOUND', 'ENTRY_NOT_FOUND'],
  [416, undefined, 'RANGE_NOT_SATISFIABLE'],
  [500, undefined, 'STORAGE_UNAVAILABLE'],
  [508, 'CIRCULAR_MOUNT', 'CIRCULAR_MOUNT'],
])('an address of a file that answers %i (%s) is %s', (status, name, expected) => {
  expect(toDownloadError(status, name)).toMatchObject({ code: expected });
});

it.each([
  [400, 'INVALID_ARGUMENT', 'UNSUPPORTED_OPERATION'],
  [404, 'ENTRY_NOT_FOUND', 'UNSUPPORTED_OPERATION'],
  [429, 'RATE_LIMITED', 'STORAGE_UNAVAILABLE'],
  [502, undefined, 'STORAGE_UNAVAILABLE'],
  [508, 'CIRCULAR_MOUNT', 'CIRCULAR_MOUNT'],
])('an address of a picture that answers %i (%s) is %s', (status, name, expected) => {
  expect(toPictureError(status, name)).toMatchObject({ code: expected });
});

it.each([
  ['MOUNT_NOT_FOUND', 'whatever', true],
  [undefined, 'failed get storage: storage not found; rawPath: /x', true],
  ['ENTRY_NOT_FOUND', 'object not found', false],
  [undefined, 'object not found', false],
  // A name says more than a text, which may have that of a file.
  ['ENTRY_NOT_FOUND', 'storage not found', false],
])('an answer that is named %s and says "%s" tells that there is no storage: %s', (name, message, expected) => {
  expect(isNoStorage(toAppError({ code: 500, message, name }))).toBe(expected);
});
