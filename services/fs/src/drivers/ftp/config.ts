import { posix } from 'node:path';
import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { parseAddress } from '../../driver-contract/address.ts';
import { boolItem, certificateIn, certificateItem, selectItem, stringItem } from '../../driver-contract/config-items.ts';
import { type NameCodec, nameCodec } from './name-codec.ts';

/** The first six are the family's, in its order. */
export const ftpConfigSchema = z.object({
  address: stringItem({
    required: true,
    help: 'Host and port of the server, as in files.example.org:21. Without a port it is 21, or 990 for implicit TLS.',
  }),
  encoding: stringItem({ default: 'utf-8', required: true, help: 'The character set of names, such as utf-8, gbk or windows-1252.' }),
  username: stringItem({ required: true, help: 'Who to log in as.' }),
  password: stringItem({ secret: true, required: true, help: 'The password.' }),
  cwd_list: boolItem({ default: false, help: 'Change into a folder before it is listed, for servers that list no other.' }),
  root_folder_path: stringItem({ default: '/', required: true, help: 'The folder of the server that is shown. It must exist.' }),
  encryption: selectItem(['explicit', 'implicit', 'none'], {
    default: 'explicit',
    help: 'explicit: TLS on the usual port. implicit: TLS from the first byte. none: anybody on the way reads the password and all content.',
  }),
  tls_insecure_skip_verify: boolItem({
    default: false,
    trustsAnyServer: true,
    help: 'Take any certificate: whoever is on the way can pass for the server.',
  }),
  tls_certificate: certificateItem(),
});

export interface TlsSettings {
  readonly isImplicit: boolean;
  readonly verifies: boolean;
  /** PEM; undefined: the public authorities alone. */
  readonly certificate: string | undefined;
}

/** What the driver goes by. */
export interface FtpSettings {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly names: NameCodec;
  readonly listsInside: boolean;
  /** Absolute, as the server calls it. */
  readonly rootPlace: string;
  /** Undefined: none. */
  readonly tls: TlsSettings | undefined;
}

/** @throws AppError INVALID_ARGUMENT, for the admin */
export function ftpSettings(config: z.output<typeof ftpConfigSchema>): FtpSettings {
  const root = config.root_folder_path.trim();
  if (/[\0\r\n]/.test(root)) throw new AppError('INVALID_ARGUMENT', 'root_folder_path is not a path');
  const isImplicit = config.encryption === 'implicit';
  const hasTls = isImplicit || config.encryption === 'explicit';
  return {
    ...parseAddress(config.address.trim(), isImplicit ? 990 : 21),
    username: oneLine('username', config.username),
    password: oneLine('password', config.password),
    names: nameCodec(config.encoding.trim()),
    listsInside: config.cwd_list,
    rootPlace: posix.resolve('/', root),
    tls: hasTls
      ? { isImplicit, verifies: !config.tls_insecure_skip_verify, certificate: certificateIn(config.tls_certificate) }
      : undefined,
  };
}

function oneLine(item: string, text: string): string {
  if (/[\0\r\n]/.test(text)) throw new AppError('INVALID_ARGUMENT', `${item} has a line break in it`);
  return text;
}
