import { AppError } from '@wharf/errors';
import jsonwebtoken from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { createTimeSpan } from './time-span.ts';

/** A user, as the gateway established them. */
export interface UserIdentity {
  readonly kind: 'user';
  readonly id: number;
  readonly username: string;
  readonly role: number;
  readonly permission: number;
  /** The folder that is the user's root, absolute. */
  readonly basePath: string;
  /** Empty for the guest and for the permanent token. */
  readonly sessionId: string;
}

/** One of our own services, calling on its own account. */
export interface ServiceIdentity {
  readonly kind: 'service';
  readonly name: string;
}

export type Identity = UserIdentity | ServiceIdentity;

const identitySchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('user'),
    id: z.number(),
    username: z.string(),
    role: z.number(),
    permission: z.number(),
    basePath: z.string(),
    sessionId: z.string(),
  }),
  z.object({ kind: z.literal('service'), name: z.string() }),
]);

/** Lifetime of an internal token, in seconds: long enough for a call, too short to be worth stealing. */
const LIFETIME_S = 60;
/** A minted token is handed out again until this many seconds before its end. */
const RENEW_BEFORE_S = 30;
const REMEMBERED_TOKENS = 5_000;
const AUDIENCE = 'wharf-internal';
/** Among the details of a refusal: it is of the process that calls, whose proof is not valid. */
const OF_PROCESS = 'of_process';

/** Makes and checks the tokens by which services tell each other on whose behalf they call. */
export interface InternalTokens {
  mint(identity: Identity): string;
  /** @throws AppError UNAUTHENTICATED */
  verify(token: string): Identity;
}

/** @param clock milliseconds since 1970. @param steady milliseconds, by a clock that nobody sets */
export function createInternalTokens(key: Buffer, clock: () => number, steady: () => number = () => performance.now()): InternalTokens {
  const span = createTimeSpan(clock, steady);
  const minted = new LRUCache<string, { token: string; renewAt: number }>({ max: REMEMBERED_TOKENS });
  const verified = new LRUCache<string, { identity: Identity; expiresAt: number }>({ max: REMEMBERED_TOKENS });
  return {
    mint(identity) {
      const now = Math.floor(span().latest / 1000);
      const text = JSON.stringify(identity);
      const known = minted.get(text);
      if (known && known.renewAt > now) return known.token;
      const token = jsonwebtoken.sign({ identity, iat: now, exp: now + LIFETIME_S, aud: AUDIENCE }, key, { algorithm: 'HS256' });
      minted.set(text, { token, renewAt: now + LIFETIME_S - RENEW_BEFORE_S });
      return token;
    },
    verify(token) {
      const now = Math.floor(span().earliest / 1000);
      const known = verified.get(token);
      if (known && known.expiresAt > now) return known.identity;
      const checked = check(token, key, now);
      verified.set(token, checked);
      return checked.identity;
    },
  };
}

function check(token: string, key: Buffer, now: number): { identity: Identity; expiresAt: number } {
  try {
    const claims = jsonwebtoken.verify(token, key, { algorithms: ['HS256'], audience: AUDIENCE, clockTimestamp: now });
    const { identity, exp } = z.object({ identity: identitySchema, exp: z.number() }).parse(claims);
    return { identity, expiresAt: exp };
  } catch (cause) {
    throw new AppError('UNAUTHENTICATED', 'the internal token is not valid', { details: { [OF_PROCESS]: true }, cause });
  }
}

/** An error as people are told of it: where one of our processes was refused, whoever it speaks for is logged in all the same. */
export function forPeople(error: unknown): unknown {
  if (!AppError.is(error) || error.details[OF_PROCESS] !== true) return error;
  return new AppError('STORAGE_UNAVAILABLE', 'our services do not know each other: their secrets or clocks differ', { cause: error });
}
