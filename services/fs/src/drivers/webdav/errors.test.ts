import { expect, it } from 'vitest';
import { toAppError } from './errors.ts';

it.each([
  [301, 'FAILED_PRECONDITION'],
  [400, 'INVALID_ARGUMENT'],
  [401, 'STORAGE_LOGIN_FAILED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'ENTRY_NOT_FOUND'],
  [405, 'PERMISSION_DENIED'],
  [409, 'ENTRY_NOT_FOUND'],
  [412, 'STALE_VERSION'],
  [416, 'RANGE_NOT_SATISFIABLE'],
  [418, 'INTERNAL'],
  [423, 'FAILED_PRECONDITION'],
  [429, 'STORAGE_UNAVAILABLE'],
  [500, 'STORAGE_UNAVAILABLE'],
  [501, 'UNSUPPORTED_OPERATION'],
  [503, 'STORAGE_UNAVAILABLE'],
  [507, 'QUOTA_EXCEEDED'],
])('%d is %s', (status, code) => {
  expect(toAppError(status).code).toBe(code);
});

it('a server that says how long to wait is listened to', () => {
  expect(toAppError(503, '2').details).toEqual({ retryAfterMs: 2000 });
  for (const text of [undefined, 'soon', 'Fri, 01 Jan 2027 00:00:00 GMT', '-1']) expect(toAppError(503, text).details).toEqual({});
});
