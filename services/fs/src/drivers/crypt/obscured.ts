import { createDecipheriv } from 'node:crypto';
import { AppError } from '@wharf/errors';

/** What the family puts before a password that is kept as rclone keeps it. */
const PREFIX = '___Obfuscated___';
/** Printed in rclone (fs/config/obscure): it hides from the eye alone. */
const KEY = Buffer.from('9c935b48730a554d6bfd7c63c886a92bd390198eb8128afbf4de162b8b95f638', 'hex');
const IV_BYTES = 16;

/** The clear text of a password that is given as it is, or as rclone keeps it. @throws AppError INVALID_ARGUMENT, for the admin */
export function reveal(item: string, text: string): string {
  if (!text.startsWith(PREFIX)) return text;
  const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
  if (bytes.byteLength < IV_BYTES) throw new AppError('INVALID_ARGUMENT', `${item} is not what rclone makes of a password`);
  const decipher = createDecipheriv('aes-256-ctr', KEY, bytes.subarray(0, IV_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES)), decipher.final()]).toString('utf8');
}
