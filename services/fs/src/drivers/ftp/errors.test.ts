import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import { storageError } from '../../driver-contract/storage-error.ts';
import { RefusedReply, toAppError, toLoginError, toTlsError } from './errors.ts';

describe('what a server refuses', () => {
  it.each([
    [421, 'STORAGE_UNAVAILABLE'],
    [425, 'STORAGE_UNAVAILABLE'],
    [426, 'STORAGE_UNAVAILABLE'],
    [450, 'FAILED_PRECONDITION'],
    [451, 'STORAGE_UNAVAILABLE'],
    [452, 'QUOTA_EXCEEDED'],
    [500, 'UNSUPPORTED_OPERATION'],
    [501, 'INVALID_ARGUMENT'],
    [502, 'UNSUPPORTED_OPERATION'],
    [530, 'STORAGE_LOGIN_FAILED'],
    [550, 'PERMISSION_DENIED'],
    [552, 'QUOTA_EXCEEDED'],
    [553, 'INVALID_ARGUMENT'],
    [599, 'STORAGE_UNAVAILABLE'],
  ])('with %i is %s, and says nothing of the server', (code, expected) => {
    const error = toAppError(new RefusedReply(code, 'secret words'));
    expect(AppError.from(error)).toMatchObject({ code: expected, message: expect.not.stringContaining('secret') });
  });

  it('at the login names what is to be done', () => {
    const of = (code: number, text: string, hasTls = false) => AppError.from(toLoginError(new RefusedReply(code, text), 'keeper', hasTls));
    expect(of(530, 'Login incorrect.')).toMatchObject({ code: 'STORAGE_LOGIN_FAILED', message: expect.stringContaining('keeper') });
    expect(of(530, 'Non-anonymous sessions must use encryption.')).toMatchObject({ message: expect.stringContaining('without TLS') });
    expect(of(550, 'SSL/TLS required on the control channel')).toMatchObject({ message: expect.stringContaining('without TLS') });
    expect(of(530, 'SSL is not for you', true)).toMatchObject({ message: expect.stringContaining('keeper') });
  });

  it.each([
    [421, 'Too many users'],
    [530, 'Sorry, the maximum number of clients (8) for this user are already connected.'],
    [530, 'Too many connections from your address.'],
  ])('by %i %s is that it takes no more connections, at the login too, which is tried again later', (code, text) => {
    const error = new RefusedReply(code, text);
    expect(toLoginError(error, 'keeper', true)).toBe(error);
    expect(toAppError(error)).toMatchObject({ code: 'STORAGE_UNAVAILABLE', message: expect.stringContaining('no more connections') });
  });

  it('by 530 for too many tries is no such thing', () => {
    expect(toLoginError(new RefusedReply(530, 'Too many failed logins.'), 'keeper', true)).toMatchObject({ code: 'STORAGE_LOGIN_FAILED' });
  });

  it('is told from what is no refusal', () => {
    const error = storageError('CANCELLED');
    expect([toAppError(error), toLoginError(error, 'keeper', true), toTlsError(error)]).toEqual([error, error, error]);
    expect(toTlsError(Object.assign(new Error('x'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })).message).toContain('certificate');
    expect(toTlsError(new Error('closed')).code).toBe('STORAGE_UNAVAILABLE');
  });
});
