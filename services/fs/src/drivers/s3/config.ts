import { isIP } from 'node:net';
import { AppError } from '@wharf/errors';
import { type EntryName, parseEntryName, parseVirtualPath, pathSegments } from '@wharf/paths';
import { z } from 'zod';
import { boolItem, certificateIn, certificateItem, numberItem, selectItem, stringItem } from '../../driver-contract/config-items.ts';

const DEFAULT_EXPIRY_HOURS = 4;
/** Signatures hold for seven days at most: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html (X-Amz-Expires). */
const MAX_EXPIRY_HOURS = 168;
const DEFAULT_PLACEHOLDER = '.wharf' as EntryName;
/** What servers without regions take; Amazon's own first one. */
const DEFAULT_REGION = 'us-east-1';

/** Names, order and defaults are the family's (docs/api-family.md#driver-templates); the last four are ours. */
export const s3ConfigSchema = z.object({
  root_folder_path: stringItem({
    default: '/',
    required: true,
    help: 'Folder of the bucket that is shown; nothing outside of it is reached.',
  }),
  bucket: stringItem({ required: true }),
  endpoint: stringItem({ required: true, help: 'Address of the store; https:// where nothing else is said.' }),
  region: stringItem({ help: 'Of the bucket. Empty: us-east-1, which stores without regions take.' }),
  access_key_id: stringItem({ required: true, secret: true }),
  secret_access_key: stringItem({ required: true, secret: true }),
  session_token: stringItem({ secret: true, help: 'Of temporary keys.' }),
  custom_host: stringItem({ help: 'Host of download links, in the place of the endpoint.' }),
  enable_custom_host_presign: boolItem({ help: 'Links to the custom host are signed for it. Off: they are not signed.' }),
  sign_url_expire: numberItem({ default: DEFAULT_EXPIRY_HOURS, help: 'Hours that a link holds, 168 at most.' }),
  placeholder: stringItem({ help: `Name of the empty object that marks a folder; hidden. Empty: ${DEFAULT_PLACEHOLDER}.` }),
  force_path_style: boolItem({ help: 'Addresses are endpoint/bucket/key. Off: bucket.endpoint/key.' }),
  list_object_version: selectItem(['v1', 'v2'], { default: 'v1' }),
  remove_bucket: boolItem({ help: 'Links to the custom host leave the bucket out of the path.' }),
  add_filename_to_disposition: boolItem({ help: 'Signed links ask the store to send the name of the file.' }),
  enable_direct_upload: boolItem({ default: false, help: 'Kept for other programs; uploads pass through this server.' }),
  direct_upload_host: stringItem({ help: 'Kept for other programs.' }),
  user_agent: stringItem({ help: 'What this server calls itself towards the store.' }),
  storage_class: stringItem({ help: 'Of new objects, for example STANDARD_IA. Empty: what the bucket has.' }),
  content_md5: boolItem({ help: 'Sends the MD5 of what is uploaded along, which the store compares.' }),
  tls_insecure_skip_verify: boolItem({
    trustsAnyServer: true,
    help: 'Takes any certificate of the store. Not for networks that others use.',
  }),
  tls_certificate: certificateItem(),
});

/** What a storage is opened with, checked. */
export interface S3Settings {
  readonly bucket: string;
  readonly endpoint: URL;
  readonly isPathStyle: boolean;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
  /** What all keys begin with: empty, or ends with `/`. */
  readonly keyPrefix: string;
  readonly placeholder: EntryName;
  readonly listVersion: 'v1' | 'v2';
  readonly userAgent: string | undefined;
  readonly storageClass: string | undefined;
  readonly sendsMd5: boolean;
  readonly verifiesTls: boolean;
  /** PEM: trusted beside the public authorities. Undefined: those alone. */
  readonly certificate: string | undefined;
  readonly links: LinkSettings;
}

export interface LinkSettings {
  readonly customHost: URL | undefined;
  readonly signsCustomHost: boolean;
  readonly leavesBucketOut: boolean;
  readonly expirySeconds: number;
  readonly namesFile: boolean;
}

/** @throws AppError INVALID_ARGUMENT, for the admin */
export function s3Settings(config: z.output<typeof s3ConfigSchema>): S3Settings {
  const endpoint = parseHost('endpoint', config.endpoint);
  const bucket = checkBucket(config.bucket.trim());
  const segments = pathSegments(parseRoot(config.root_folder_path));
  return {
    bucket,
    endpoint,
    isPathStyle: config.force_path_style || !canBeHostName(bucket, endpoint),
    region: config.region.trim() || DEFAULT_REGION,
    accessKeyId: config.access_key_id.trim(),
    secretAccessKey: config.secret_access_key.trim(),
    sessionToken: config.session_token.trim() || undefined,
    keyPrefix: segments.map((segment) => `${segment}/`).join(''),
    placeholder: parsePlaceholder(config.placeholder.trim()),
    listVersion: config.list_object_version === 'v2' ? 'v2' : 'v1',
    userAgent: headerText('user_agent', config.user_agent),
    storageClass: headerText('storage_class', config.storage_class),
    sendsMd5: config.content_md5,
    verifiesTls: !config.tls_insecure_skip_verify,
    certificate: certificateIn(config.tls_certificate),
    links: {
      customHost: config.custom_host.trim() === '' ? undefined : parseHost('custom_host', config.custom_host),
      signsCustomHost: config.enable_custom_host_presign,
      leavesBucketOut: config.remove_bucket,
      expirySeconds: expirySeconds(config.sign_url_expire),
      namesFile: config.add_filename_to_disposition,
    },
  };
}

function parseHost(item: string, text: string): URL {
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(text.trim()) ? text.trim() : `https://${text.trim()}`);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.hostname === '') throw invalid(`${item} is not an http or https address`);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw invalid(`${item} takes a host, a port and a path, nothing else`);
  }
  return url;
}

/** As all stores take them, and the few more that old ones have: a name that would change the address is none. */
function checkBucket(bucket: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._:-]{0,253}$/.test(bucket)) throw invalid('bucket is not the name of a bucket');
  return bucket;
}

/** Addresses have no subdomains, and certificates for `*.host` cover one label. */
function canBeHostName(bucket: string, endpoint: URL): boolean {
  if (isIP(endpoint.hostname.replace(/^\[(.*)\]$/, '$1')) !== 0) return false;
  return endpoint.protocol === 'https:' ? /^[a-z0-9-]{1,63}$/.test(bucket) : /^[a-z0-9.-]{1,63}$/.test(bucket);
}

function parseRoot(text: string) {
  try {
    return parseVirtualPath(text.trim());
  } catch (cause) {
    throw new AppError('INVALID_ARGUMENT', 'root_folder_path is not a path of folders', { cause });
  }
}

function parsePlaceholder(text: string): EntryName {
  if (text === '') return DEFAULT_PLACEHOLDER;
  try {
    return parseEntryName(text);
  } catch (cause) {
    throw new AppError('INVALID_ARGUMENT', 'placeholder is not a name', { cause });
  }
}

function expirySeconds(hours: number): number {
  const given = hours === 0 ? DEFAULT_EXPIRY_HOURS : hours;
  if (!(given > 0 && given <= MAX_EXPIRY_HOURS)) throw invalid(`sign_url_expire is a number of hours up to ${MAX_EXPIRY_HOURS}`);
  return Math.max(1, Math.floor(given * 3600));
}

function headerText(item: string, text: string): string | undefined {
  if (!/^[\x20-\x7e]*$/.test(text)) throw invalid(`${item} has characters that cannot be sent`);
  return text.trim() || undefined;
}

function invalid(message: string): AppError {
  return new AppError('INVALID_ARGUMENT', message);
}
