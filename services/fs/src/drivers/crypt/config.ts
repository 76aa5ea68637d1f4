import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { boolItem, selectItem, stringItem } from '../../driver-contract/config-items.ts';
import { reveal } from './obscured.ts';

const MODES = ['off', 'standard', 'obfuscate'] as const;
const ENCODINGS = ['base64', 'base32', 'base32768'] as const;
const DEFAULT_SUFFIX = '.bin';

export type NameMode = (typeof MODES)[number];
export type NameEncoding = (typeof ENCODINGS)[number];

/** Names, order and defaults are the family's (docs/api-family.md#driver-templates). */
export const cryptConfigSchema = z.object({
  filename_encryption: selectItem(MODES, { default: 'off', required: true, help: 'off adds the suffix, obfuscate only hides.' }),
  directory_name_encryption: selectItem(['false', 'true'], { default: 'false', required: true, help: 'Not where names of files are off.' }),
  remote_path: stringItem({ required: true, help: 'Folder of the tree that holds the encrypted files.' }),
  password: stringItem({ required: true, secret: true, help: 'As in rclone, in clear, or after ___Obfuscated___ as rclone keeps it.' }),
  salt: stringItem({ secret: true, help: 'The second password (password2 of rclone).' }),
  encrypted_suffix: stringItem({ default: DEFAULT_SUFFIX, required: true, help: 'Of files whose names are not encrypted.' }),
  filename_encoding: selectItem(ENCODINGS, {
    default: 'base64',
    required: true,
    help: 'Of encrypted names. rclone itself begins with base32.',
  }),
  thumbnail: boolItem({ default: false, help: 'Kept for other programs.' }),
  show_hidden: boolItem({ default: true, help: 'Lists names that begin with a dot.' }),
});

/** What a storage is opened with, checked. */
export interface CryptSettings {
  readonly remotePath: string;
  readonly password: string;
  readonly salt: string;
  readonly mode: NameMode;
  readonly encryptsFolders: boolean;
  readonly encoding: NameEncoding;
  readonly suffix: string;
  readonly showsHidden: boolean;
}

/** @throws AppError INVALID_ARGUMENT, for the admin */
export function cryptSettings(config: z.output<typeof cryptConfigSchema>): CryptSettings {
  if (!/^\.[A-Za-z0-9_-]{2,32}$/.test(config.encrypted_suffix)) {
    throw new AppError('INVALID_ARGUMENT', 'encrypted_suffix is a dot and two or more letters, digits, - or _');
  }
  const mode = config.filename_encryption || 'off';
  return {
    remotePath: config.remote_path.trim(),
    password: reveal('password', config.password),
    salt: reveal('salt', config.salt),
    mode,
    encryptsFolders: mode !== 'off' && config.directory_name_encryption === 'true',
    encoding: config.filename_encoding || 'base64',
    suffix: config.encrypted_suffix,
    showsHidden: config.show_hidden,
  };
}
