/** How rclone gets to the servers of a type. */
export type Way = 'web' | 'ssh' | 'ftp';

/** What a type is to us. */
export interface AllowedType {
  readonly way: Way;
  /** Digests of listings cost a call for each file. */
  readonly hasDearHashes?: true;
  /** rclone does not hold its servers to a key. */
  readonly takesAnyKey?: true;
  /** Servers follow links where a path leads through them; rclone does not list what they lead to. */
  readonly followsLinks?: true;
  /** A folder that rclone takes for empty is removed with all that is in it, and rclone does not list all. */
  readonly removesUnlisted?: true;
  /** Options that are there whatever the admin says. */
  readonly fixed?: Readonly<Record<string, string>>;
  /** Options that are there where the admin says nothing else. */
  readonly usual?: Readonly<Record<string, string>>;
}

const WEB: AllowedType = { way: 'web' };

/**
 * The types that may be chosen, by rclone's prefixes: each reaches servers and nothing else, by HTTP over rclone's own transport (which takes the
 * proxy) or by one port that we relay. Not here are those that read this machine, that wrap other remotes, and that open connections of their own kind.
 */
export const TYPES: Readonly<Record<string, AllowedType>> = {
  azureblob: WEB,
  b2: WEB,
  box: WEB,
  drive: WEB,
  dropbox: WEB,
  fichier: WEB,
  filefabric: WEB,
  // Some servers list no name that begins with a dot unless they are told so: files on their way would be lost.
  ftp: { way: 'ftp', followsLinks: true, usual: { force_list_hidden: 'true' } },
  gcs: { way: 'web', hasDearHashes: true },
  hidrive: WEB,
  http: WEB,
  internetarchive: WEB,
  koofr: WEB,
  mailru: WEB,
  onedrive: WEB,
  opendrive: WEB,
  pcloud: WEB,
  s3: { way: 'web', hasDearHashes: true },
  seafile: WEB,
  // Digests would be commands on the server. Without a password or a key rclone would ask the agent of this machine.
  sftp: {
    way: 'ssh',
    takesAnyKey: true,
    followsLinks: true,
    fixed: { disable_hashcheck: 'true', shell_type: 'none', set_modtime: 'false', key_use_agent: 'false', skip_links: 'true' },
  },
  sugarsync: WEB,
  swift: { way: 'web', hasDearHashes: true },
  webdav: { way: 'web', removesUnlisted: true },
  yandex: WEB,
  zoho: WEB,
};

/** What the value of an option may be. */
export type Kind =
  /** Where a server is: an address, or a host and a port. The policy is asked. */
  | 'address'
  /** The host of `port`. */
  | 'host'
  | 'port'
  /** Letters, digits and some signs that end no part of an address. */
  | 'word'
  /** One line. */
  | 'text'
  /** The same, with `\n` for the ends of its lines. */
  | 'lines'
  /** The JSON that `rclone authorize` prints. */
  | 'token';

const kinds = (kind: Kind, names: string): [string, Kind][] => names.split(/\s+/).map((name) => [name, kind]);

/**
 * The options that may be given, of whatever type: what is not named here is refused, however rclone calls it tomorrow. None of them names a file, a
 * command, a variable, a socket or a proxy of this machine (`*_file`, `*_command`, `env_auth`, `ssh`, `use_msi`, `headers`, `*_url` of logins).
 */
export const OPTIONS: ReadonlyMap<string, Kind> = new Map([
  ...kinds('address', 'url endpoint auth sas_url hostname'),
  ...kinds('host', 'host'),
  ...kinds('port', 'port'),
  ...kinds('text', 'user username pass password client_id client_secret access_key_id secret_access_key session_token key api_key'),
  ...kinds('lines', 'key_pem'),
  ...kinds('text', 'key_file_pass access_token permanent_token private_access_key app_id auth_token bearer_token refresh_token'),
  ...kinds('text', 'application_credential_id application_credential_name application_credential_secret library library_key'),
  ...kinds('text', 'sse_customer_key sse_customer_key_base64 sse_customer_key_md5 sse_kms_key_id file_password folder_password'),
  ...kinds('token', 'token'),
  ...kinds(
    'word',
    'account region provider vendor location_constraint location acl bucket_acl object_acl storage_class access_tier storage_policy',
  ),
  ...kinds('word', 'root_folder_id team_drive drive_id drive_type shared_folder mountid root_prefix resource_key project_number'),
  ...kinds('word', 'tenant tenant_id tenant_domain domain user_id auth_version endpoint_type scope scope_access scope_role impersonate'),
  ...kinds(
    'word',
    'server_side_encryption sse_customer_algorithm requester_pays bucket_policy_only no_check_bucket force_path_style v2_auth',
  ),
  ...kinds(
    'word',
    'list_version list_chunk no_head no_head_object no_slash hard_delete no_versions versions use_trash skip_gdocs skip_shortcuts',
  ),
  ...kinds('word', 'skip_dangling_shortcuts shared_with_me trashed_only acknowledge_abuse keep_revision_forever expose_onenote_files'),
  ...kinds('word', 'use_accelerate_endpoint disable_http2 disable_checksum decompress use_insecure_cipher'),
  ...kinds('word', 'concurrency disable_epsv disable_mlsd disable_utf8 force_list_hidden writing_mdtm create_library anonymous'),
]);

/** Those that prove who we are. They are kept sealed. `isPassword` of rclone names most of them, and not all. */
export const SECRETS: ReadonlySet<string> = new Set(
  (
    'pass password client_secret secret_access_key session_token key api_key key_file_pass access_token permanent_token private_access_key auth_token ' +
    'bearer_token refresh_token application_credential_secret library_key sse_customer_key sse_customer_key_base64 file_password folder_password ' +
    'key_pem sas_url access_key_id'
  ).split(' '),
);
