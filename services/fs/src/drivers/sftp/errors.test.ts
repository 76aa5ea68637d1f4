import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { isRefusal, RefusedRequest, STATUS, toAppError, toConnectError } from './errors.ts';

it.each([
  [STATUS.EOF, 'STORAGE_UNAVAILABLE'],
  [STATUS.NO_SUCH_FILE, 'ENTRY_NOT_FOUND'],
  [STATUS.PERMISSION_DENIED, 'PERMISSION_DENIED'],
  [STATUS.FAILURE, 'FAILED_PRECONDITION'],
  [5, 'INVALID_ARGUMENT'],
  [6, 'STORAGE_UNAVAILABLE'],
  [7, 'STORAGE_UNAVAILABLE'],
  [STATUS.OP_UNSUPPORTED, 'UNSUPPORTED_OPERATION'],
  [99, 'FAILED_PRECONDITION'],
])('status %i is %s, and what the server says stays in the cause', (status, code) => {
  const cause = new RefusedRequest(status, 'it failed: /secret/place');
  expect(toAppError(cause)).toMatchObject({ code, cause });
  expect((toAppError(cause) as AppError).message).not.toContain('/secret');
  expect(isRefusal(cause, status)).toBe(true);
});

it('what is no refusal of the server stays itself', () => {
  for (const error of [new AppError('CANCELLED', 'x'), new Error('of the content')]) expect(toAppError(error)).toBe(error);
});

it.each([
  ['client-authentication', 'STORAGE_LOGIN_FAILED', 'somebody'],
  ['client-timeout', 'DEADLINE_EXCEEDED', 'in time'],
  ['client-socket', 'STORAGE_UNAVAILABLE', 'ended the connection'],
  ['handshake', 'STORAGE_UNAVAILABLE', 'encryption'],
  ['protocol', 'STORAGE_UNAVAILABLE', 'ended the connection'],
  [undefined, 'STORAGE_UNAVAILABLE', 'ended the connection'],
])('a connection that fails with %s is %s', (level, code, text) => {
  const cause = Object.assign(new Error('s3cret'), level === undefined ? {} : { level });
  const error = toConnectError(cause, 'somebody');
  expect(error).toMatchObject({ code, cause });
  expect(error.message).toContain(text);
  expect(error.message).not.toContain('s3cret');
});
