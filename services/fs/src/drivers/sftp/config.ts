import path from 'node:path';
import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { parseAddress } from '../../driver-contract/address.ts';
import { boolItem, stringItem, textItem } from '../../driver-contract/config-items.ts';

const DEFAULT_PORT = 22;

/** The first seven are the family's, in its order. */
export const sftpConfigSchema = z.object({
  address: stringItem({ required: true, help: 'Host and port of the server, as in files.example.org:22. Without a port it is 22.' }),
  username: stringItem({ required: true, help: 'Who to log in as.' }),
  private_key: textItem({
    secret: true,
    help: 'A private key as text, from the line with BEGIN to the one with END. Tried before the password.',
  }),
  password: stringItem({ secret: true, help: 'The password, where the server asks for one.' }),
  passphrase: stringItem({ secret: true, help: 'What opens the private key, if it is locked.' }),
  root_folder_path: stringItem({ default: '/', required: true, help: 'The folder of the server that is shown. It must exist.' }),
  ignore_symlink_error: boolItem({
    default: false,
    help: 'Leave out links whose target is gone. Otherwise they are listed as empty files.',
  }),
  host_key: stringItem({
    kept: true,
    help: 'The key by which the server is known, as SHA256:... or the line of its public key. Empty: the one it has at the first login is kept. Empty it when the address changes.',
  }),
});

/** What the driver goes by. */
export interface SftpSettings {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  /** Undefined: none. */
  readonly privateKey: string | undefined;
  readonly password: string | undefined;
  readonly passphrase: string | undefined;
  /** As the admin entered it; where that is, the server says. */
  readonly rootPath: string;
  readonly hidesBrokenLinks: boolean;
}

/** @throws AppError INVALID_ARGUMENT, for the admin */
export function sftpSettings(config: z.output<typeof sftpConfigSchema>): SftpSettings {
  const root = config.root_folder_path.trim();
  if (root.includes('\0')) throw new AppError('INVALID_ARGUMENT', 'root_folder_path is not a path');
  return {
    ...parseAddress(config.address.trim(), DEFAULT_PORT),
    username: config.username,
    privateKey: config.private_key.trim() === '' ? undefined : `${config.private_key.trim()}\n`,
    password: config.password === '' ? undefined : config.password,
    passphrase: config.passphrase === '' ? undefined : config.passphrase,
    rootPath: path.posix.normalize(root),
    hidesBrokenLinks: config.ignore_symlink_error,
  };
}
