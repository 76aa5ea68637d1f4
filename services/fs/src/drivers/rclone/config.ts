import { AppError } from '@wharf/errors';
import { parseVirtualPath, pathSegments } from '@wharf/paths';
import { z } from 'zod';
import { parseAddress } from '../../driver-contract/address.ts';
import { selectItem, stringItem, textItem } from '../../driver-contract/config-items.ts';
import { type AllowedType, TYPES } from './allowed.ts';
import { checkParameters, checkToken, type Parameters, readNamed } from './parameters.ts';

/** The family's, in its order. */
export const smbConfigSchema = z.object({
  root_folder_path: stringItem({
    default: '.',
    required: true,
    help: 'The folder of the share that is shown, as in photos/2025. A dot: all of it.',
  }),
  address: stringItem({ required: true, help: 'Host and port of the server, as in nas.example.org:445. Without a port it is 445.' }),
  username: stringItem({ required: true, help: 'Who to log in as. With a domain: DOMAIN\\name.' }),
  password: stringItem({ secret: true, help: 'The password.' }),
  share_name: stringItem({ required: true, help: 'The name of the share, as in documents.' }),
});

/** What the driver goes by. */
export interface SmbSettings {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  /** Undefined: the server's own. */
  readonly domain: string | undefined;
  readonly password: string;
  readonly share: string;
  /** Names of folders below the share. */
  readonly root: readonly string[];
  /** As entered. */
  readonly rootPath: string;
}

const MAX_LENGTH = 1024;

/** @throws AppError INVALID_ARGUMENT, for the admin */
export function smbSettings(config: z.output<typeof smbConfigSchema>): SmbSettings {
  const share = config.share_name.trim();
  if (!/^[^/\\:*?"<>|[\]\p{Cc}]{1,80}$/u.test(share) || /^\.+$/.test(share)) throw invalid('share_name is not the name of a share');
  const [, domain, username = ''] = /^(?:([^\\]+)\\)?(.*)$/s.exec(config.username.trim()) ?? [];
  return {
    ...parseAddress(config.address.trim(), 445),
    username: oneLine('username', username),
    domain: domain === undefined ? undefined : oneLine('username', domain),
    password: oneLine('password', config.password),
    share,
    root: parseRoot(config.root_folder_path.trim()),
    rootPath: config.root_folder_path.trim(),
  };
}

export const rcloneConfigSchema = z.object({
  type: selectItem(Object.keys(TYPES), { required: true, help: 'What rclone calls the kind of server.' }),
  options: textItem({
    help: 'By rclone’s names of the options of this type: an object, or one name = value a line, as in endpoint = https://s3.example.org.',
  }),
  secrets: textItem({
    secret: true,
    help: 'The same for passwords and keys, as in secret_access_key = ...',
  }),
  oauth_token: textItem({
    secret: true,
    kept: true,
    help: 'For types that log in by a browser: all that rclone authorize TYPE prints, from { to }. It is renewed by itself.',
  }),
  root_folder_path: stringItem({
    default: '/',
    required: true,
    help: 'The folder that is shown. Where the type has buckets, it begins with the name of one.',
  }),
  rcd_url: stringItem({ help: 'Address of an rclone rcd of yours that is used instead of our own. Empty: our own.' }),
  rcd_username: stringItem(),
  rcd_password: stringItem({ secret: true }),
});

/** What the driver Rclone goes by. */
export interface RemoteSettings {
  readonly type: string;
  readonly allowed: AllowedType;
  readonly parameters: Parameters;
  /** Names of folders. */
  readonly root: readonly string[];
  /** As entered. */
  readonly rootPath: string;
  /** Undefined: the one of this process. */
  readonly rcd: { readonly url: string; readonly username: string; readonly password: string } | undefined;
}

/** @throws AppError INVALID_ARGUMENT, for the admin */
export function remoteSettings(config: z.output<typeof rcloneConfigSchema>): RemoteSettings {
  const { type } = config;
  const secrets = readNamed('secrets', config.secrets);
  const options = readNamed('options', config.options);
  if ([...options, ...secrets].some(([name]) => name === 'token')) throw invalid('the token belongs into oauth_token');
  const parameters = checkParameters(type, options, secrets);
  if (config.oauth_token.trim() !== '') checkToken(config.oauth_token);
  const allowed = TYPES[type];
  if (!allowed) throw invalid('no such type');
  return {
    type,
    allowed,
    parameters,
    root: parseRoot(config.root_folder_path.trim()),
    rootPath: config.root_folder_path.trim(),
    rcd: rcdSettings(config),
  };
}

/** @throws AppError INVALID_ARGUMENT, for the admin */
export function rcdSettings(config: z.output<typeof rcloneConfigSchema>): RemoteSettings['rcd'] {
  const url = config.rcd_url.trim();
  if (url === '') return undefined;
  return { url, username: oneLine('rcd_username', config.rcd_username), password: oneLine('rcd_password', config.rcd_password) };
}

function parseRoot(text: string): readonly string[] {
  const path = text.replaceAll('\\', '/').replace(/^\.(?:\/|$)/, '');
  try {
    return pathSegments(parseVirtualPath(`/${path}`));
  } catch (cause) {
    throw new AppError('INVALID_ARGUMENT', 'root_folder_path is not a path of folders', { cause });
  }
}

function oneLine(item: string, text: string): string {
  if (/\p{Cc}/u.test(text) || text.length > MAX_LENGTH) throw invalid(`${item} has a control character in it, or is too long`);
  return text;
}

function invalid(message: string): AppError {
  return new AppError('INVALID_ARGUMENT', message);
}
