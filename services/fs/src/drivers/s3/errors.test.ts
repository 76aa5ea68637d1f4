import { expect, it } from 'vitest';
import { badAnswer } from '../../driver-contract/storage-error.ts';
import { toAppError } from './errors.ts';

it.each([
  [404, 'NoSuchKey', 'ENTRY_NOT_FOUND', 'object not found'],
  [404, undefined, 'ENTRY_NOT_FOUND', 'object not found'],
  [404, 'NoSuchBucket', 'FAILED_PRECONDITION', 'no such bucket'],
  [403, 'AccessDenied', 'PERMISSION_DENIED', 'does not allow'],
  [403, undefined, 'PERMISSION_DENIED', 'does not allow'],
  [403, 'InvalidAccessKeyId', 'STORAGE_LOGIN_FAILED', 'access_key_id'],
  [403, 'SignatureDoesNotMatch', 'STORAGE_LOGIN_FAILED', 'secret_access_key'],
  [400, 'ExpiredToken', 'STORAGE_LOGIN_FAILED', 'expired'],
  [403, 'RequestTimeTooSkewed', 'STORAGE_LOGIN_FAILED', 'clock'],
  [503, 'SlowDown', 'STORAGE_UNAVAILABLE', 'not available'],
  [503, undefined, 'STORAGE_UNAVAILABLE', 'not available'],
  [429, undefined, 'STORAGE_UNAVAILABLE', 'not available'],
  [500, 'InternalError', 'STORAGE_UNAVAILABLE', 'not available'],
  [200, 'InternalError', 'STORAGE_UNAVAILABLE', 'not available'],
  [599, 'Unheard', 'STORAGE_UNAVAILABLE', 'not available'],
  [412, 'PreconditionFailed', 'STALE_VERSION', 'changed'],
  [409, 'ConditionalRequestConflict', 'STALE_VERSION', 'changed'],
  [416, 'InvalidRange', 'RANGE_NOT_SATISFIABLE', 'behind the end'],
  [400, 'BadDigest', 'CONTENT_CORRUPT', 'announced'],
  [400, 'KeyTooLongError', 'INVALID_ARGUMENT', 'path'],
  [507, undefined, 'QUOTA_EXCEEDED', 'full'],
  [501, 'NotImplemented', 'UNSUPPORTED_OPERATION', 'not support'],
  [400, 'InvalidRequest', 'INTERNAL', 'does not take'],
  [400, 'toString', 'INTERNAL', 'does not take'],
  [301, 'PermanentRedirect', 'FAILED_PRECONDITION', 'endpoint and region'],
  [302, undefined, 'FAILED_PRECONDITION', 'endpoint and region'],
  [400, 'AuthorizationHeaderMalformed', 'FAILED_PRECONDITION', 'endpoint and region'],
] as const)('%i %s is %s: %s', (status, storeCode, code, words) => {
  expect(toAppError({ status, code: storeCode })).toMatchObject({ code, message: expect.stringContaining(words) });
});

it('a region that the store names is said, other texts of it are not', () => {
  const error = (region: string) => toAppError({ status: 301, code: 'PermanentRedirect', region }).message;
  expect(error('eu-west-1')).toMatch(/the store says eu-west-1$/);
  expect(error('<b>evil</b>')).not.toContain('evil');
  const odd = toAppError({ status: 400, code: `X\r\n${'y'.repeat(1000)}` });
  expect(String(odd.cause)).toMatch(/^Error: the store answered 400 X\?\?y{61}$/);
});

it('what is no answer of the protocol may be a glitch', () => {
  expect(badAnswer('no listing')).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});
