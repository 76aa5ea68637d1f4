import { AppError } from '@wharf/errors';
import { withoutEnd } from '@wharf/pace';
import { parseVirtualPath } from '@wharf/paths';
import { z } from 'zod';
import { boolItem, stringItem } from '../../driver-contract/config-items.ts';

/** Names, order and defaults are the family's (docs/api-family.md#driver-templates). */
export const sameApiConfigSchema = z.object({
  root_folder_path: stringItem({
    default: '/',
    required: true,
    help: 'Folder of the other gateway that is shown; nothing outside of it is reached.',
  }),
  url: stringItem({
    required: true,
    help: 'Address of the other gateway, as in https://files.example.org. https:// where nothing else is said.',
  }),
  meta_password: stringItem({ secret: true, help: 'Password of folders there.' }),
  username: stringItem({ help: 'Empty, and no token: as its guest.' }),
  password: stringItem({ secret: true }),
  token: stringItem({
    secret: true,
    kept: true,
    help: 'A permanent token, where there is no username. With a username it is kept here what the login gave, and renewed.',
  }),
  pass_ip_to_upsteam: boolItem({ default: true, help: 'Tells the address of the client when a link is asked for.' }),
  pass_ua_to_upsteam: boolItem({ default: true, help: 'Tells what the client calls itself when a link is asked for.' }),
  forward_archive_requests: boolItem({ default: true, help: 'Kept for other programs.' }),
  pass_refresh_flag_to_upsteam: boolItem({
    default: false,
    help: 'Has the other gateway read its folders anew for each listing. It must let us write there.',
  }),
});

/** What a storage is opened with, checked. */
export interface SameApiSettings {
  /** Without a slash at its end. */
  readonly base: URL;
  /** `/`, or `/a/b`. */
  readonly root: string;
  readonly folderPassword: string;
  /** Undefined: as the guest, or by the token that is entered. */
  readonly login: { readonly username: string; readonly password: string } | undefined;
  readonly passesAddress: boolean;
  readonly passesAgent: boolean;
  readonly refreshes: boolean;
}

/** @throws AppError INVALID_ARGUMENT, for the admin */
export function sameApiSettings(config: z.output<typeof sameApiConfigSchema>): SameApiSettings {
  const { username, password } = config;
  if (username === '' && password !== '') throw invalid('a password needs a username');
  return {
    base: parseBase(config.url.trim()),
    root: parseRoot(config.root_folder_path),
    folderPassword: config.meta_password,
    login: username === '' ? undefined : { username, password },
    passesAddress: config.pass_ip_to_upsteam,
    passesAgent: config.pass_ua_to_upsteam,
    refreshes: config.pass_refresh_flag_to_upsteam,
  };
}

function parseBase(text: string): URL {
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `https://${text}`);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.hostname === '') throw invalid('url is not an http or https address');
  if (url.username !== '' || url.password !== '') throw invalid('url takes no password: there are username and password for that');
  if (url.search !== '' || url.hash !== '') throw invalid('url takes a host, a port and a path, nothing else');
  url.pathname = withoutEnd(url.pathname, '/');
  return url;
}

function parseRoot(text: string): string {
  try {
    return parseVirtualPath(text.trim());
  } catch (cause) {
    throw new AppError('INVALID_ARGUMENT', 'root_folder_path is not a path of folders', { cause });
  }
}

function invalid(message: string): AppError {
  return new AppError('INVALID_ARGUMENT', message);
}
