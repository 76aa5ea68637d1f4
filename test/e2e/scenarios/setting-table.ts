/** A setting as the family has it (docs/api-family.md#settings). `value` is the default where the family has one that is not its own name or address. */
interface SettingRow {
  readonly key: string;
  readonly group: number;
  readonly type: string;
  /** 0 public, 1 private, 2 read-only. */
  readonly flag: number;
  readonly options: string;
  readonly value: string | undefined;
}

const ANY = undefined;
const TEXTS =
  'txt,htm,html,xml,java,properties,sql,js,md,json,conf,ini,vue,php,py,bat,gitignore,yml,go,sh,c,cpp,h,hpp,tsx,vtt,srt,ass,rs,lrc,strm';

const ROWS: readonly (readonly [key: string, group: number, type: string, flag: number, value: string | undefined, options?: string])[] = [
  ['version', 1, 'string', 2, 'v4.2.0'],
  ['site_title', 1, 'string', 0, ANY],
  ['announcement', 1, 'text', 0, ANY],
  ['pagination_type', 1, 'select', 0, 'all', 'all,pagination,load_more,auto_load_more'],
  ['default_page_size', 1, 'number', 0, '30'],
  ['allow_indexed', 1, 'bool', 0, 'false'],
  ['allow_mounted', 1, 'bool', 0, 'true'],
  ['robots_txt', 1, 'text', 0, 'User-agent: *\nAllow: /'],
  ['logo', 2, 'text', 0, ANY],
  ['favicon', 2, 'string', 0, ANY],
  ['main_color', 2, 'string', 0, '#1890ff'],
  ['home_icon', 2, 'string', 0, '🏠'],
  ['share_icon', 2, 'string', 0, '🎁'],
  ['home_container', 2, 'select', 0, 'max_980px', 'max_980px,hope_container'],
  ['settings_layout', 2, 'select', 0, 'list', 'list,responsive'],
  ['hide_storage_details_in_manage_page', 2, 'bool', 1, 'true'],
  ['show_disk_usage_in_plain_text', 2, 'bool', 0, 'false'],
  ['text_types', 3, 'text', 1, TEXTS],
  ['audio_types', 3, 'text', 1, 'mp3,flac,ogg,m4a,wav,opus,wma'],
  ['video_types', 3, 'text', 1, 'mp4,mkv,avi,mov,rmvb,webm,flv,m3u8'],
  ['image_types', 3, 'text', 1, 'jpg,tiff,jpeg,png,gif,bmp,svg,ico,swf,webp,avif'],
  ['proxy_types', 3, 'text', 1, 'm3u8,url'],
  ['external_previews', 3, 'text', 0, '{}'],
  ['iframe_previews', 3, 'text', 0, ANY],
  ['audio_cover', 3, 'string', 0, ANY],
  ['audio_autoplay', 3, 'bool', 0, 'true'],
  ['video_autoplay', 3, 'bool', 0, 'true'],
  ['preview_download_by_default', 3, 'bool', 0, 'false'],
  ['preview_archives_by_default', 3, 'bool', 0, 'true'],
  ['share_preview_download_by_default', 3, 'bool', 0, 'true'],
  ['share_preview_archives_by_default', 3, 'bool', 0, 'false'],
  ['readme_autorender', 3, 'bool', 0, 'true'],
  ['filter_readme_scripts', 3, 'bool', 0, 'true'],
  ['non_efs_zip_encoding', 3, 'string', 0, 'IBM437'],
  ['hide_files', 4, 'text', 0, '/\\/README.md/i'],
  ['package_download', 4, 'bool', 0, 'true'],
  ['link_expiration', 4, 'number', 1, '0'],
  ['sign_all', 4, 'bool', 1, 'true'],
  ['privacy_regs', 4, 'text', 1, ANY],
  ['ocr_api', 4, 'string', 0, ANY],
  ['filename_char_mapping', 4, 'text', 0, '{"/": "|"}'],
  ['forward_direct_link_params', 4, 'bool', 0, 'false'],
  ['ignore_direct_link_params', 4, 'string', 0, ANY],
  ['webauthn_login_enabled', 4, 'bool', 0, 'false'],
  ['share_preview', 4, 'bool', 0, 'false'],
  ['share_archive_preview', 4, 'bool', 0, 'false'],
  ['share_summary_content', 4, 'text', 0, ANY],
  ['ignore_system_files', 4, 'bool', 1, 'false'],
  ['token', 0, 'string', 1, ANY],
  ['index_progress', 0, 'text', 1, ANY],
  ['rpcdl_uri', 5, 'string', 1, 'http://localhost:6800/jsonrpc'],
  ['aria2_uri', 5, 'string', 1, 'http://localhost:6800/jsonrpc'],
  ['rpcdl_secret', 5, 'string', 1, ''],
  ['aria2_secret', 5, 'string', 1, ''],
  // The family's default has a password in it, which is nobody's business to ship.
  ['torrent_url', 5, 'string', 1, 'http://localhost:8080/'],
  ['qbittorrent_url', 5, 'string', 1, 'http://localhost:8080/'],
  ['torrent_seedtime', 5, 'number', 1, '0'],
  ['qbittorrent_seedtime', 5, 'number', 1, '0'],
  ['transmission_uri', 5, 'string', 1, 'http://localhost:9091/transmission/rpc'],
  ['transmission_seedtime', 5, 'number', 1, '0'],
  ['search_index', 6, 'select', 0, 'none', 'database,database_non_full_text,bleve,meilisearch,none'],
  ['auto_update_index', 6, 'bool', 0, 'false'],
  ['ignore_paths', 6, 'text', 1, ''],
  ['max_index_depth', 6, 'number', 1, '20'],
  ['sso_login_enabled', 7, 'bool', 0, 'false'],
  ['sso_login_platform', 7, 'select', 0, '', 'Casdoor,Github,Microsoft,Google,Dingtalk,OIDC'],
  ['sso_compatibility_mode', 7, 'bool', 0, 'false'],
  ['ldap_login_enabled', 8, 'bool', 0, 'false'],
  ['ldap_login_tips', 8, 'string', 0, 'login with ldap'],
  ['offline_download_task_threads_num', 11, 'number', 1, '5'],
  ['offline_download_transfer_task_threads_num', 11, 'number', 1, '5'],
  ['upload_task_threads_num', 11, 'number', 1, '5'],
  ['copy_task_threads_num', 11, 'number', 1, '5'],
  ['move_task_threads_num', 11, 'number', 1, '5'],
  // Parts of uploads are not offered: the flag says so.
  ['multipart_enabled', 11, 'bool', 0, 'true'],
  ['multipart_chunk_size', 11, 'number', 0, '10'],
];

/** Every setting that is listed, in the order of the answer. */
export const SETTING_TABLE: readonly SettingRow[] = ROWS.map(([key, group, type, flag, value, options = '']) => ({
  ...{ key, group, type, flag, value, options },
}));

/** Private settings of the family that would do nothing here. */
export const LEFT_OUT: readonly string[] = [
  ...['hide_storage_details', 'proxy_ignore_headers', 'customize_head', 'customize_body', 'share_force_proxy'],
  ...['handle_hook_after_writing', 'handle_hook_rate_limit', 'sso_client_id', 'sso_client_secret', 'sso_oidc_username_key'],
  ...['sso_organization_name', 'sso_application_name', 'sso_endpoint_name', 'sso_jwt_public_key', 'sso_extra_scopes', 'sso_auto_register'],
  ...['sso_default_dir', 'sso_default_permission', 'ldap_server', 'ldap_skip_tls_verify', 'ldap_manager_dn', 'ldap_manager_password'],
  ...['ldap_user_search_base', 'ldap_user_search_filter', 'ldap_default_dir', 'ldap_default_permission', 's3_access_key_id'],
  ...['s3_secret_access_key', 's3_buckets', 'ftp_public_host', 'ftp_pasv_port_map', 'ftp_mandatory_tls', 'ftp_implicit_tls'],
  ...['ftp_tls_private_key_path', 'ftp_tls_public_cert_path', 'sftp_disable_password_login', 'max_client_download_speed'],
  ...['max_client_upload_speed', 'max_server_download_speed', 'max_server_upload_speed', 'decompress_download_task_threads_num'],
];
