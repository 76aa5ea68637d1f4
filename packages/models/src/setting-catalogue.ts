/** What a setting may be: its form, its place and its factory value. */
export interface SettingDefinition {
  readonly key: string;
  readonly value: string;
  readonly help?: string;
  /** `text` is of several lines. */
  readonly type: 'string' | 'number' | 'bool' | 'select' | 'text';
  /** Comma-separated, for select. */
  readonly options?: string;
  readonly group: number;
  /** 0 public, 1 private, 2 read-only. */
  readonly flag: 0 | 1 | 2;
  /**
   * The value is always the factory's, because Wharf does not offer what the setting switches on, or because another service keeps the
   * value. A value that a client saves is passed over, so that backups of other installations can be restored.
   */
  readonly isFixed?: boolean;
  /** The value is what a service reported last; one that a client saves is passed over. */
  readonly isReported?: boolean;
  /** The value is a secret, or an address that may have a password in it: it is sealed in the store. */
  readonly isSecret?: boolean;
}

/** Names under which existing clients know a setting, and its own name. Both act on one stored value. */
export const SETTING_ALIASES: Readonly<Record<string, string>> = {
  aria2_uri: 'rpcdl_uri',
  aria2_secret: 'rpcdl_secret',
  qbittorrent_url: 'torrent_url',
  qbittorrent_seedtime: 'torrent_seedtime',
};

/** The numbers by which clients ask for a group of settings. */
const GROUP = {
  single: 0,
  site: 1,
  style: 2,
  preview: 3,
  global: 4,
  offlineDownload: 5,
  index: 6,
  sso: 7,
  ldap: 8,
  traffic: 11,
} as const;

const PUBLIC = 0;
const PRIVATE = 1;
const READ_ONLY = 2;

/** Everything that is one group: rows of key, factory value, type, and what differs from a private setting. */
type Row = readonly [key: string, value: string, type: SettingDefinition['type'], rest?: Partial<SettingDefinition>];

const shown = { flag: PUBLIC } as const;
const secret = { isSecret: true } as const;
const NOT_OFFERED = 'Not part of this version: stays off.';

/** So long at most a finished torrent stays in its tool, in minutes: some 1,900 years. The time of its end must be one that a date can be. */
export const MAX_SEED_MINUTES = 1_000_000_000;

const site: readonly Row[] = [
  // The level of the HTTP API: SDKs take three bare numbers and choose their routes by them.
  ['version', 'v4.2.0', 'string', { flag: READ_ONLY }],
  ['site_title', 'Wharf', 'string', shown],
  ['announcement', '', 'text', { ...shown, help: 'Markdown, shown to everybody who opens the site.' }],
  ['pagination_type', 'all', 'select', { ...shown, options: 'all,pagination,load_more,auto_load_more' }],
  ['default_page_size', '30', 'number', shown],
  ['allow_indexed', 'false', 'bool', { ...shown, help: 'Other gateways may put this site into their search.' }],
  ['allow_mounted', 'true', 'bool', { ...shown, help: 'Other gateways may mount this site as a guest.' }],
  ['robots_txt', 'User-agent: *\nAllow: /', 'text', shown],
];

const style: readonly Row[] = [
  ['logo', '/logo.svg', 'text', { ...shown, help: 'Address of a picture; a second line is for the dark theme.' }],
  ['favicon', '/favicon.svg', 'string', shown],
  ['main_color', '#1890ff', 'string', shown],
  ['home_icon', '🏠', 'string', shown],
  ['share_icon', '🎁', 'string', shown],
  ['home_container', 'max_980px', 'select', { ...shown, options: 'max_980px,hope_container' }],
  ['settings_layout', 'list', 'select', { ...shown, options: 'list,responsive' }],
  ['hide_storage_details_in_manage_page', 'true', 'bool'],
  ['show_disk_usage_in_plain_text', 'false', 'bool', shown],
];

const TEXT_TYPES =
  'txt,htm,html,xml,java,properties,sql,js,md,json,conf,ini,vue,php,py,bat,gitignore,yml,go,sh,c,cpp,h,hpp,tsx,vtt,srt,ass,rs,lrc,strm';

const preview: readonly Row[] = [
  ['text_types', TEXT_TYPES, 'text'],
  ['audio_types', 'mp3,flac,ogg,m4a,wav,opus,wma', 'text'],
  ['video_types', 'mp4,mkv,avi,mov,rmvb,webm,flv,m3u8', 'text'],
  ['image_types', 'jpg,tiff,jpeg,png,gif,bmp,svg,ico,swf,webp,avif', 'text'],
  ['proxy_types', 'm3u8,url', 'text', { help: 'Files of these types always pass through this server.' }],
  ['external_previews', '{}', 'text', shown],
  ['iframe_previews', '{}', 'text', shown],
  ['audio_cover', '/audio-cover.svg', 'string', shown],
  ['audio_autoplay', 'true', 'bool', shown],
  ['video_autoplay', 'true', 'bool', shown],
  ['preview_download_by_default', 'false', 'bool', shown],
  ['preview_archives_by_default', 'true', 'bool', shown],
  ['share_preview_download_by_default', 'true', 'bool', shown],
  ['share_preview_archives_by_default', 'false', 'bool', shown],
  ['readme_autorender', 'true', 'bool', shown],
  ['filter_readme_scripts', 'true', 'bool', shown],
  ['non_efs_zip_encoding', 'IBM437', 'string', { ...shown, help: 'Encoding of names in a zip file that does not say it is UTF-8.' }],
];

/** IPv4 addresses, IPv6 addresses in full and with a gap, and access tokens in addresses. */
const PRIVACY_PATTERNS = [
  '(?:(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])',
  '(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}',
  '(?:[0-9A-Fa-f]{1,4}:){1,6}(?::[0-9A-Fa-f]{1,4}){1,6}',
  'access_token=[^&\\s]+',
];

const SHARE_SUMMARY = [
  '{{#if creator}}{{creator}} shares{{else}}Shared{{/if}} {{#each files}}{{#unless @first}}, {{/unless}}{{this}}{{/each}} on {{site_title}}:',
  '{{base_url}}/@s/{{id}}{{#if pwd}} (code {{pwd}}){{/if}}{{#if expires}}, until {{expires}}{{/if}}',
].join('\n');

const global: readonly Row[] = [
  [
    'hide_files',
    '/\\/README.md/i',
    'text',
    { ...shown, help: 'One /pattern/flags a line. Hides in the browser only; rules hide for real.' },
  ],
  ['package_download', 'true', 'bool', shown],
  ['link_expiration', '0', 'number', { help: 'Hours that a download link holds; 0 is for ever.' }],
  ['sign_all', 'true', 'bool', { help: 'Every download link is signed.' }],
  ['privacy_regs', PRIVACY_PATTERNS.join('\n'), 'text', { help: 'One RE2 pattern a line; what matches is masked in error messages.' }],
  ['ocr_api', '', 'string', shown],
  [
    'filename_char_mapping',
    '{"/": "|"}',
    'text',
    { ...shown, help: 'JSON object: what is replaced in the names of storages that do not resolve paths themselves, and by what.' },
  ],
  ['forward_direct_link_params', 'false', 'bool', shown],
  // Clients of the family put these timestamps into links.
  ['ignore_direct_link_params', 'sign,wharf_ts,alist_ts,openlist_ts,raw', 'string', shown],
  ['webauthn_login_enabled', 'false', 'bool', { ...shown, isFixed: true, help: NOT_OFFERED }],
  ['share_preview', 'false', 'bool', shown],
  ['share_archive_preview', 'false', 'bool', shown],
  ['share_summary_content', SHARE_SUMMARY, 'text', shown],
  ['ignore_system_files', 'false', 'bool', { help: 'Uploads of files that desktops leave behind are refused, such as .DS_Store.' }],
];

const single: readonly Row[] = [
  ['token', '', 'string'],
  ['index_progress', '{}', 'text', { isReported: true }],
];

const offlineDownload: readonly Row[] = [
  ['rpcdl_uri', 'http://localhost:6800/jsonrpc', 'string', secret],
  ['rpcdl_secret', '', 'string', secret],
  ['torrent_url', 'http://localhost:8080/', 'string', { ...secret, help: 'With user and password: http://user:password@host:port/.' }],
  ['torrent_seedtime', '0', 'number', { help: 'Minutes; less than 0 never removes.' }],
  [
    'transmission_uri',
    'http://localhost:9091/transmission/rpc',
    'string',
    { ...secret, help: 'With user and password where it asks for them: http://user:password@host:port/transmission/rpc.' },
  ],
  ['transmission_seedtime', '0', 'number', { help: 'Minutes; less than 0 never removes.' }],
];

const index: readonly Row[] = [
  ['search_index', 'none', 'select', { ...shown, options: 'database,database_non_full_text,bleve,meilisearch,none' }],
  ['auto_update_index', 'false', 'bool', shown],
  ['ignore_paths', '', 'text', { help: 'One path a line; what is below is not indexed.' }],
  ['max_index_depth', '20', 'number', { help: 'Folders deeper than this are not indexed.' }],
];

const sso: readonly Row[] = [
  ['sso_login_enabled', 'false', 'bool', { ...shown, isFixed: true, help: NOT_OFFERED }],
  ['sso_login_platform', '', 'select', { ...shown, options: 'Casdoor,Github,Microsoft,Google,Dingtalk,OIDC' }],
  ['sso_compatibility_mode', 'false', 'bool', shown],
];

const ldap: readonly Row[] = [
  ['ldap_login_enabled', 'false', 'bool', { ...shown, isFixed: true, help: NOT_OFFERED }],
  ['ldap_login_tips', 'login with ldap', 'string', shown],
];

const threads = { help: 'How many tasks of the kind run at a time, in each replica.' } as const;

const traffic: readonly Row[] = [
  ['offline_download_task_threads_num', '5', 'number', threads],
  ['offline_download_transfer_task_threads_num', '5', 'number', threads],
  ['upload_task_threads_num', '5', 'number', threads],
  ['copy_task_threads_num', '5', 'number', threads],
  ['move_task_threads_num', '5', 'number', threads],
  ['multipart_enabled', 'true', 'bool', { ...shown, help: 'Uploads in parts, and by tus.' }],
  ['multipart_chunk_size', '10', 'number', { ...shown, help: 'MB; the most that a part of an upload has.' }],
];

/**
 * Every setting of the factory, in the order of answers; an alias follows the setting that it stands for.
 *
 * Keys, groups, types and flags are those that clients of the family know. Public settings are all here, with neutral values where what
 * they describe is not offered; of the private ones only those that do something, or that pages of clients look for. `token` is listed
 * with the rest, but auth keeps it.
 */
export const SETTING_CATALOGUE: readonly SettingDefinition[] = [
  ...definitions(GROUP.site, site),
  ...definitions(GROUP.style, style),
  ...definitions(GROUP.preview, preview),
  ...definitions(GROUP.global, global),
  ...definitions(GROUP.single, single),
  ...definitions(GROUP.offlineDownload, offlineDownload),
  ...definitions(GROUP.index, index),
  ...definitions(GROUP.sso, sso),
  ...definitions(GROUP.ldap, ldap),
  ...definitions(GROUP.traffic, traffic),
];

function definitions(group: number, rows: readonly Row[]): SettingDefinition[] {
  return rows.flatMap(([key, value, type, rest]) => {
    const definition: SettingDefinition = { key, value, type, group, flag: PRIVATE, ...rest };
    const aliases = Object.keys(SETTING_ALIASES).filter((alias) => SETTING_ALIASES[alias] === key);
    return [definition, ...aliases.map((alias) => ({ ...definition, key: alias }))];
  });
}
