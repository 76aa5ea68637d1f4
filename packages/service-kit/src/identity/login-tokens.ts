import { AppError } from '@wharf/errors';
import { ownText } from '@wharf/pace';
import jsonwebtoken from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { createTimeSpan } from './time-span.ts';

/** The claims of a login: the five that clients of the family decode, and the session it stands for. Times are unix seconds. */
export interface LoginClaims {
  readonly username: string;
  /** When the password was last set. */
  readonly pwd_ts: number;
  readonly sid: string;
  readonly iat: number;
  readonly nbf: number;
  readonly exp: number;
}

const claimsSchema = z.object({
  username: z.string(),
  pwd_ts: z.number(),
  sid: z.string().min(1),
  iat: z.number(),
  nbf: z.number(),
  exp: z.number(),
});

/** Nothing longer is looked at: our tokens have about 300 characters. */
const MAX_TOKEN_LENGTH = 4_096;
const REMEMBERED_TOKENS = 10_000;
/** What the clocks of those who sign and those who verify may differ by, in seconds: a login is used at once. */
const EARLY_S = 30;

export interface LoginTokens {
  sign(claims: LoginClaims): string;
  /**
   * The claims of a token of ours that is neither expired nor early. Whether its session still stands is another question.
   * @throws AppError UNAUTHENTICATED with the family's texts
   */
  verify(token: string): LoginClaims;
}

/** @param clock milliseconds since 1970. @param steady milliseconds, by a clock that nobody sets */
export function createLoginTokens(key: Buffer, clock: () => number, steady: () => number = () => performance.now()): LoginTokens {
  const span = createTimeSpan(clock, steady);
  const verified = new LRUCache<string, LoginClaims>({ max: REMEMBERED_TOKENS });
  // What was now once is not early where the clock is set back. Its session ends it all the same.
  let latestMs = 0;
  return {
    sign(claims) {
      const { earliest, latest } = span();
      // Whoever does not know yet that the clock was set takes it, too.
      const nbf = claims.nbf - Math.ceil((latest - earliest) / 1000);
      return jsonwebtoken.sign({ ...claims, nbf }, key, { algorithm: 'HS256' });
    },
    verify(token) {
      const now = Math.floor(clock() / 1000);
      latestMs = Math.max(latestMs, span().latest);
      const known = verified.get(token);
      if (known && known.exp > now) return known;
      if (token.length > MAX_TOKEN_LENGTH) throw new AppError('UNAUTHENTICATED', 'token is invalidated');
      const claims = check(token, key, now, latestMs / 1000);
      // It is a part of a header, which may have blanks before it without end.
      verified.set(ownText(token), claims);
      return claims;
    },
  };
}

function check(token: string, key: Buffer, now: number, latest: number): LoginClaims {
  try {
    const claims = claimsSchema.parse(
      jsonwebtoken.verify(token, key, { algorithms: ['HS256'], clockTimestamp: now, ignoreNotBefore: true }),
    );
    if (claims.nbf > latest + EARLY_S) throw new jsonwebtoken.NotBeforeError('jwt not active', new Date(claims.nbf * 1000));
    return claims;
  } catch (cause) {
    throw new AppError('UNAUTHENTICATED', refusal(cause), { cause });
  }
}

function refusal(cause: unknown): string {
  if (cause instanceof jsonwebtoken.TokenExpiredError) return 'token is expired';
  if (cause instanceof jsonwebtoken.NotBeforeError) return 'token not active yet';
  return 'token is invalidated';
}
