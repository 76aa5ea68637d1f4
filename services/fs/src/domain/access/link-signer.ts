import { createHmac, createSecretKey } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { forgettable } from '@wharf/pace';
import { maxPaths } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import { equalTexts } from './equal-texts.ts';

const REMEMBERED_SIGNS = 10_000;
const VERIFIED_SIGNS = 10_000;
const MS_PER_HOUR = 3_600_000;
/** Longer than any signature: 44 letters, a colon and up to 15 digits, with a slash. */
const MAX_SIGN_LENGTH = 64;

/** Signs the paths of download links as the family does (docs/api-family.md#signed-links), so that tools that compute links themselves keep working. */
export interface LinkSigner {
  /** @param path full path in the tree. @param hours validity; 0 is for ever. */
  sign(path: string, hours: number): string;
  /** @throws AppError UNAUTHENTICATED with the family's texts */
  verify(path: string, sign: string): void;
}

/** @param token the permanent token, which is the key: another token makes every link invalid. @param clock milliseconds */
export function createLinkSigner(token: string, clock: () => number): LinkSigner {
  // A text would be made a key anew for each signature, which takes three times as long as to sign.
  const key = createSecretKey(token, 'utf8');
  const permanent = forgettable(new LRUCache<string, string>(maxPaths(REMEMBERED_SIGNS)));
  /** Signatures that were right and never expire, with their paths. A lookup by hash does not tell how much of a guess is right. */
  const verified = forgettable(new LRUCache<string, true>(maxPaths(VERIFIED_SIGNS)));
  const signUntil = (path: string, expiry: string) => {
    const mac = createHmac('sha256', key).update(`${path}:${expiry}`).digest('base64');
    return `${mac.replaceAll('+', '-').replaceAll('/', '_')}:${expiry}`;
  };
  return {
    sign(path, hours) {
      if (hours > 0) return signUntil(path, String(Math.floor((clock() + hours * MS_PER_HOUR) / 1000)));
      const known = permanent.get(path);
      if (known !== undefined) return known;
      const made = signUntil(path, '0');
      permanent.set(path, made);
      return made;
    },
    verify(path, given) {
      if (given.length > MAX_SIGN_LENGTH) throw refusal('sign invalid');
      const asked = `${path.length} ${path}${given}`;
      if (verified.has(asked)) return;
      const sign = given.replace(/\/$/, '');
      const colon = sign.lastIndexOf(':');
      if (colon === -1) throw refusal('expire missing');
      const expiry = sign.slice(colon + 1);
      if (expiry === '') throw refusal('expire missing');
      if (!/^\d{1,15}$/.test(expiry)) throw refusal('expire invalid');
      if (expiry !== '0' && Number(expiry) * 1000 < clock()) throw refusal('sign expired');
      const known = expiry === '0' ? permanent.get(path) : undefined;
      if (!equalTexts(withoutPadding(sign), withoutPadding(known ?? signUntil(path, expiry)))) throw refusal('sign invalid');
      // Only right signatures are remembered, so wrong guesses push nothing out.
      if (expiry === '0') verified.set(asked, true);
    },
  };
}

/** One published SDK leaves the padding out: of a digest of 32 bytes it is one letter. */
function withoutPadding(sign: string): string {
  return sign.replace('=:', ':');
}

function refusal(message: string): AppError {
  return new AppError('UNAUTHENTICATED', message);
}
