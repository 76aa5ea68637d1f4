import { randomUUID } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { ALPHANUMERICS, randomText } from './random-text.ts';

const MIN_LENGTH = 16;
/** It travels in a header. */
const MAX_LENGTH = 1_024;
/** 64 alphanumerics are 381 bits. */
const RANDOM_CHARACTERS = 64;

/** A fresh permanent token. */
export function makePermanentToken(): string {
  return `wharf-${randomUUID()}${randomText(ALPHANUMERICS, RANDOM_CHARACTERS)}`;
}

/** Checks that a token from the admin is fit for a header. @throws AppError INVALID_ARGUMENT */
export function parsePermanentToken(text: string): string {
  if (text.length < MIN_LENGTH || text.length > MAX_LENGTH)
    throw new AppError('INVALID_ARGUMENT', `token must have ${MIN_LENGTH} to ${MAX_LENGTH} characters`);
  if (!/^[\x21-\x7e]+$/.test(text)) throw new AppError('INVALID_ARGUMENT', 'token must consist of visible ASCII characters');
  return text;
}
