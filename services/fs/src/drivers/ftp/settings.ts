import { posix } from 'node:path';
import { AppError } from '@wharf/errors';
import type { z } from 'zod';
import { parseAddress } from '../../driver-contract/address.ts';
import { certificateIn } from '../../driver-contract/config-items.ts';
import type { ftpConfigSchema } from './config.ts';
import { type NameCodec, nameCodec } from './name-codec.ts';

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
