/**
 * What makes the name of an account unique: NFKC and case-folded, by lower, upper and lower again, so that letters with several forms (ẞ ß ss, both small
 * sigmas) meet.
 */
export function usernameKeyOf(username: string): string {
  return username.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC').trim();
}
