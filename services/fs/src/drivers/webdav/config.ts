import { AppError } from '@wharf/errors';
import { withoutEnd } from '@wharf/pace';
import { parseVirtualPath, pathSegments } from '@wharf/paths';
import { z } from 'zod';
import { boolItem, certificateIn, certificateItem, selectItem, stringItem } from '../../driver-contract/config-items.ts';

/** Names, order and defaults are the family's (docs/api-family.md#driver-templates); the last two are ours. */
export const webdavConfigSchema = z.object({
  vendor: selectItem(['sharepoint', 'other'], {
    default: 'other',
    help: 'The maker of the server. What it can do is seen by its answers; sharepoint is refused: its login by cookies is not there.',
  }),
  address: stringItem({
    required: true,
    help: 'Address of the folder of the server, as in https://cloud.example.org/remote.php/dav/files/anna. https:// where nothing else is said.',
  }),
  username: stringItem({ required: true }),
  password: stringItem({ required: true, secret: true, help: 'Servers with a second factor have passwords for apps.' }),
  root_folder_path: stringItem({
    default: '/',
    required: true,
    help: 'Folder below the address that is shown; nothing outside of it is reached.',
  }),
  tls_insecure_skip_verify: boolItem({
    default: false,
    trustsAnyServer: true,
    help: 'Takes any certificate of the server. Not for networks that others use.',
  }),
  redirect_hosts: stringItem({
    help: 'Other hosts that the server may send downloads to, separated by commas, as in cdn.example.org. They get no password. Empty: none.',
  }),
  tls_certificate: certificateItem(),
});

/** What a storage is opened with, checked. */
export interface WebdavSettings {
  /** Of the root that is shown; its path ends with `/`. */
  readonly root: URL;
  /** The address as entered, of which the root is a part. */
  readonly address: URL;
  /** As entered, for what is said of it. */
  readonly rootPath: string;
  readonly username: string;
  readonly password: string;
  readonly verifiesTls: boolean;
  /** PEM: trusted beside the public authorities. Undefined: those alone. */
  readonly certificate: string | undefined;
  /** With their ports where these are not the usual ones, in lower case. */
  readonly redirectHosts: ReadonlySet<string>;
}

/** @throws AppError INVALID_ARGUMENT | FAILED_PRECONDITION (a vendor that is not there), for the admin */
export function webdavSettings(config: z.output<typeof webdavConfigSchema>): WebdavSettings {
  if (config.vendor === 'sharepoint') {
    throw new AppError('FAILED_PRECONDITION', 'the login of SharePoint by cookies is not there: use a server with a name and a password');
  }
  const address = parseAddress(config.address.trim());
  return {
    root: folderBelow(address, parseRoot(config.root_folder_path)),
    address,
    rootPath: config.root_folder_path.trim(),
    username: config.username,
    password: config.password,
    verifiesTls: !config.tls_insecure_skip_verify,
    certificate: certificateIn(config.tls_certificate),
    redirectHosts: parseHosts(config.redirect_hosts),
  };
}

function parseAddress(text: string): URL {
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `https://${text}`);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.hostname === '') throw invalid('address is not an http or https address');
  if (url.username !== '' || url.password !== '') throw invalid('address takes no password: there are username and password for that');
  if (url.search !== '' || url.hash !== '') throw invalid('address takes a host, a port and a path, nothing else');
  return folderBelow(url, []);
}

function parseRoot(text: string): readonly string[] {
  try {
    return pathSegments(parseVirtualPath(text.trim()));
  } catch (cause) {
    throw new AppError('INVALID_ARGUMENT', 'root_folder_path is not a path of folders', { cause });
  }
}

function folderBelow(url: URL, segments: readonly string[]): URL {
  const folder = new URL(url);
  folder.pathname = [withoutEnd(url.pathname, '/'), ...segments.map(encodeURIComponent), ''].join('/');
  return folder;
}

function parseHosts(text: string): ReadonlySet<string> {
  const hosts = text.split(',').map((host) => host.trim().toLowerCase());
  const named = hosts.filter((host) => host !== '');
  for (const host of named) {
    if (URL.parse(`https://${host}/`)?.host !== host) throw invalid(`redirect_hosts: ${host.slice(0, 100)} is not a host`);
  }
  return new Set(named);
}

function invalid(message: string): AppError {
  return new AppError('INVALID_ARGUMENT', message);
}
