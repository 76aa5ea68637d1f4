import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import { failureEnvelope, successEnvelope } from './envelope.ts';

describe('envelope', () => {
  it('success without data carries null', () => {
    expect(successEnvelope()).toEqual({ code: 200, message: 'success', data: null });
  });

  it('falsy data stays what it is', () => {
    expect([successEnvelope('').data, successEnvelope(0).data, successEnvelope(false).data]).toEqual(['', 0, false]);
  });

  it('a failure has the code of the table and null', () => {
    const error = new AppError('ENTRY_NOT_FOUND', 'object not found', { details: { path: '/x' } });
    expect(failureEnvelope(error)).toEqual({ code: 500, message: 'object not found', data: null });
  });

  it('a route may say another code and data', () => {
    const error = new AppError('RECORD_NOT_FOUND', 'driver [x] not found');
    expect(failureEnvelope(error, { codes: { RECORD_NOT_FOUND: 404 }, data: { id: 0 } })).toEqual({
      code: 404,
      message: 'driver [x] not found',
      data: { id: 0 },
    });
  });

  it('an unforeseen error shows nothing of itself', () => {
    const error = new AppError('INTERNAL', 'connection to 10.0.0.1 refused');
    expect(failureEnvelope(error).message).toBe('internal error');
  });

  it('the message is masked', () => {
    const error = new AppError('STORAGE_UNAVAILABLE', 'no answer from 10.0.0.1');
    expect(failureEnvelope(error, { mask: (text) => text.replaceAll(/\d/g, '*') }).message).toBe('no answer from **.*.*.*');
  });
});
