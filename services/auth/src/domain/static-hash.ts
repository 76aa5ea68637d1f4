import { createHash } from 'node:crypto';

/** The fixed text that every client and server of the family appends; it belongs to the protocol of `login/hash`. */
const STATIC_SALT = 'https://github.com/alist-org/alist';

/** What clients send to `login/hash` instead of the password: lowercase hex SHA-256. It is as good as the password. */
export function staticHash(password: string): string {
  return createHash('sha256').update(`${password}-${STATIC_SALT}`, 'utf8').digest('hex');
}
