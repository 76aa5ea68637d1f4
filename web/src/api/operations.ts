// From the OpenAPI document by `npm run gen`.

/** Every call of the API: what it takes and what it answers. */
export interface Operations {
  '/api/admin/audit/list': { input: { page?: number; per_page?: number; action?: string; user_id?: number | string; address?: string; since?: string; until?: string }; answer: { content: readonly ({ id: string; time: string; action: string; user_id: number; username: string; address: string; target: string; detail: string; count: number; last_time: string })[]; total: number } };
  '/api/admin/config/export': { input: { passphrase?: string }; answer: Record<string, unknown> };
  '/api/admin/config/import': { input: { document: Record<string, unknown> | string; passphrase?: string; dry_run?: boolean }; answer: { records: readonly ({ kind: string; name: string; outcome: string; note: string })[]; is_written: boolean } };
  '/api/admin/driver/info': { input: { driver?: string }; answer: { common: readonly ({ name: string; type: string; default: string; options: string; required: boolean; help: string })[]; additional: readonly ({ name: string; type: string; default: string; options: string; required: boolean; help: string })[]; config: { name: string; local_sort: boolean; only_local: boolean; only_proxy: boolean; no_cache: boolean; no_upload: boolean; need_ms: boolean; default_root: string; alert: string; only_indices: boolean; prefer_proxy: boolean }; options_by: readonly (string)[]; options_in: readonly (string)[] } };
  '/api/admin/driver/list': { input: Record<string, never>; answer: Record<string, { common: readonly ({ name: string; type: string; default: string; options: string; required: boolean; help: string })[]; additional: readonly ({ name: string; type: string; default: string; options: string; required: boolean; help: string })[]; config: { name: string; local_sort: boolean; only_local: boolean; only_proxy: boolean; no_cache: boolean; no_upload: boolean; need_ms: boolean; default_root: string; alert: string; only_indices: boolean; prefer_proxy: boolean }; options_by: readonly (string)[]; options_in: readonly (string)[] }> };
  '/api/admin/driver/names': { input: Record<string, never>; answer: readonly (string)[] };
  '/api/admin/driver/options': { input: { driver?: string; addition?: string }; answer: readonly ({ name: string; item: string; type: "string" | "text" | "number" | "bool" | "size" | "duration"; help: string; default: string; choices: readonly ({ value: string; help: string })[]; exclusive: boolean; required: boolean; secret: boolean; advanced: boolean; shapes: boolean })[] };
  '/api/admin/index/build': { input: Record<string, never>; answer: null };
  '/api/admin/index/clear': { input: Record<string, never>; answer: null };
  '/api/admin/index/progress': { input: Record<string, never>; answer: { obj_count: number; is_done: boolean; last_done_time: unknown; error: string } };
  '/api/admin/index/stop': { input: Record<string, never>; answer: null };
  '/api/admin/index/update': { input: { paths?: readonly (string)[]; max_depth?: number }; answer: null };
  '/api/admin/message/get': { input: Record<string, never>; answer: null };
  '/api/admin/message/send': { input: Record<string, never>; answer: null };
  '/api/admin/meta/create': { input: { id?: number | string; path: string; password?: string; p_sub?: boolean; write?: boolean; w_sub?: boolean; hide?: string; h_sub?: boolean; readme?: string; r_sub?: boolean; header?: string; header_sub?: boolean; read_users?: readonly (number)[]; read_users_sub?: boolean; write_users?: readonly (number)[]; write_users_sub?: boolean }; answer: null };
  '/api/admin/meta/delete': { input: { id: number | string }; answer: null };
  '/api/admin/meta/explain': { input: { path: string; users?: readonly (number)[]; rule?: { id?: number | string; path: string; password?: string; p_sub?: boolean; write?: boolean; w_sub?: boolean; hide?: string; h_sub?: boolean; readme?: string; r_sub?: boolean; header?: string; header_sub?: boolean; read_users?: readonly (number)[]; read_users_sub?: boolean; write_users?: readonly (number)[]; write_users_sub?: boolean } }; answer: { content: readonly ({ user_id: number; username: string; role: number; disabled: boolean; decisions: readonly ({ action: string; allowed: boolean; reason: string; rule_path: string })[] })[] } };
  '/api/admin/meta/get': { input: { id: number | string }; answer: { id: number; path: string; password: string; p_sub: boolean; write: boolean; w_sub: boolean; hide: string; h_sub: boolean; readme: string; r_sub: boolean; header: string; header_sub: boolean; read_users: readonly (number)[]; read_users_sub: boolean; write_users: readonly (number)[]; write_users_sub: boolean; shadows: readonly (string)[] } | null };
  '/api/admin/meta/list': { input: { page?: number; per_page?: number }; answer: { content: readonly ({ id: number; path: string; password: string; p_sub: boolean; write: boolean; w_sub: boolean; hide: string; h_sub: boolean; readme: string; r_sub: boolean; header: string; header_sub: boolean; read_users: readonly (number)[]; read_users_sub: boolean; write_users: readonly (number)[]; write_users_sub: boolean; shadows: readonly (string)[] })[]; total: number } };
  '/api/admin/meta/update': { input: { id?: number | string; path: string; password?: string; p_sub?: boolean; write?: boolean; w_sub?: boolean; hide?: string; h_sub?: boolean; readme?: string; r_sub?: boolean; header?: string; header_sub?: boolean; read_users?: readonly (number)[]; read_users_sub?: boolean; write_users?: readonly (number)[]; write_users_sub?: boolean }; answer: null };
  '/api/admin/scan/progress': { input: Record<string, never>; answer: { obj_count: number; is_done: boolean } };
  '/api/admin/scan/start': { input: Record<string, never>; answer: null };
  '/api/admin/scan/stop': { input: Record<string, never>; answer: null };
  '/api/admin/setting/default': { input: { group?: string; groups?: string }; answer: readonly ({ key: string; value: string; help: string; type: string; options: string; group: number; flag: number; index: number })[] };
  '/api/admin/setting/delete': { input: { key?: string }; answer: Record<string, never> };
  '/api/admin/setting/get': { input: { key?: string; keys?: string }; answer: { key: string; value: string; help: string; type: string; options: string; group: number; flag: number; index: number } | readonly ({ key: string; value: string; help: string; type: string; options: string; group: number; flag: number; index: number })[] };
  '/api/admin/setting/list': { input: { group?: string; groups?: string }; answer: readonly ({ key: string; value: string; help: string; type: string; options: string; group: number; flag: number; index: number })[] };
  '/api/admin/setting/reset_token': { input: Record<string, never>; answer: string };
  '/api/admin/setting/save': { input: readonly ({ key: string; value?: string; help?: string; type?: string; options?: string; group?: number; flag?: number; index?: number })[]; answer: null };
  '/api/admin/setting/set_115': { input: Record<string, never>; answer: null };
  '/api/admin/setting/set_115_open': { input: Record<string, never>; answer: null };
  '/api/admin/setting/set_123_open': { input: Record<string, never>; answer: null };
  '/api/admin/setting/set_123_pan': { input: Record<string, never>; answer: null };
  '/api/admin/setting/set_aria2': { input: { uri?: string; secret?: string }; answer: string };
  '/api/admin/setting/set_guangyapan': { input: Record<string, never>; answer: null };
  '/api/admin/setting/set_pikpak': { input: Record<string, never>; answer: null };
  '/api/admin/setting/set_qbit': { input: { url?: string; seedtime?: string }; answer: string };
  '/api/admin/setting/set_rpcdl': { input: { uri?: string; secret?: string }; answer: string };
  '/api/admin/setting/set_thunder': { input: Record<string, never>; answer: null };
  '/api/admin/setting/set_thunder_browser': { input: Record<string, never>; answer: null };
  '/api/admin/setting/set_thunderx': { input: Record<string, never>; answer: null };
  '/api/admin/setting/set_torrent': { input: { url?: string; seedtime?: string }; answer: string };
  '/api/admin/setting/set_transmission': { input: { uri?: string; seedtime?: string }; answer: string };
  '/api/admin/state': { input: Record<string, never>; answer: { version: string; node_version: string; services: readonly ({ name: string; works: boolean; latency_ms: number; error: string })[] } };
  '/api/admin/storage/create': { input: { id?: number | string; mount_path: string; order?: number; driver?: string; cache_expiration?: number; custom_cache_policies?: string; addition?: string; remark?: string; disabled?: boolean; disable_index?: boolean; enable_sign?: boolean; order_by?: string; order_direction?: string; extract_folder?: string; web_proxy?: boolean; webdav_policy?: string; proxy_range?: boolean; down_proxy_url?: string; disable_proxy_sign?: boolean }; answer: { id: number } };
  '/api/admin/storage/delete': { input: { id: number | string }; answer: null };
  '/api/admin/storage/disable': { input: { id: number | string }; answer: null };
  '/api/admin/storage/enable': { input: { id: number | string }; answer: null };
  '/api/admin/storage/get': { input: { id: number | string }; answer: { id: number; mount_path: string; order: number; driver: string; cache_expiration: number; custom_cache_policies: string; status: string; addition: string; remark: string; modified: string; disabled: boolean; disable_index: boolean; enable_sign: boolean; order_by: string; order_direction: string; extract_folder: string; web_proxy: boolean; webdav_policy: string; proxy_range: boolean; down_proxy_url: string; disable_proxy_sign: boolean; mount_details?: { total_space: number; used_space: number; free_space: number } } | null };
  '/api/admin/storage/health': { input: Record<string, never>; answer: { content: readonly ({ id: number; mount_path: string; driver: string; state: string; breaker: string; last_error: string; last_error_at: string; retry_at: string; latency_ms: number; calls: number; failures: number })[]; total: number; replica: string } };
  '/api/admin/storage/list': { input: { page?: number; per_page?: number }; answer: { content: readonly ({ id: number; mount_path: string; order: number; driver: string; cache_expiration: number; custom_cache_policies: string; status: string; addition: string; remark: string; modified: string; disabled: boolean; disable_index: boolean; enable_sign: boolean; order_by: string; order_direction: string; extract_folder: string; web_proxy: boolean; webdav_policy: string; proxy_range: boolean; down_proxy_url: string; disable_proxy_sign: boolean; mount_details?: { total_space: number; used_space: number; free_space: number } })[]; total: number } };
  '/api/admin/storage/load_all': { input: Record<string, never>; answer: null };
  '/api/admin/storage/test': { input: { id?: number | string; driver?: string; addition?: string; write?: boolean }; answer: { works: boolean; error: string; steps: readonly ({ name: string; ok: boolean; error: string; elapsed_ms: number })[]; traits: Record<string, unknown>; operations: readonly (string)[]; clock_skew_ms: number | null; left_behind: readonly (string)[] } };
  '/api/admin/storage/update': { input: { id?: number | string; mount_path: string; order?: number; driver?: string; cache_expiration?: number; custom_cache_policies?: string; addition?: string; remark?: string; disabled?: boolean; disable_index?: boolean; enable_sign?: boolean; order_by?: string; order_direction?: string; extract_folder?: string; web_proxy?: boolean; webdav_policy?: string; proxy_range?: boolean; down_proxy_url?: string; disable_proxy_sign?: boolean }; answer: null };
  '/api/admin/task/copy/cancel': { input: { tid?: string }; answer: null };
  '/api/admin/task/copy/cancel_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/copy/clear_done': { input: Record<string, never>; answer: null };
  '/api/admin/task/copy/clear_succeeded': { input: Record<string, never>; answer: null };
  '/api/admin/task/copy/delete': { input: { tid?: string }; answer: null };
  '/api/admin/task/copy/delete_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/copy/done': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/admin/task/copy/info': { input: { tid?: string }; answer: { id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string } };
  '/api/admin/task/copy/pause': { input: { tid?: string }; answer: null };
  '/api/admin/task/copy/resume': { input: { tid?: string }; answer: null };
  '/api/admin/task/copy/retry': { input: { tid?: string }; answer: null };
  '/api/admin/task/copy/retry_failed': { input: Record<string, never>; answer: null };
  '/api/admin/task/copy/retry_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/copy/undone': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/admin/task/decompress/cancel': { input: { tid?: string }; answer: null };
  '/api/admin/task/decompress/cancel_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/decompress/clear_done': { input: Record<string, never>; answer: null };
  '/api/admin/task/decompress/clear_succeeded': { input: Record<string, never>; answer: null };
  '/api/admin/task/decompress/delete': { input: { tid?: string }; answer: null };
  '/api/admin/task/decompress/delete_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/decompress/done': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/admin/task/decompress/info': { input: { tid?: string }; answer: { id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string } };
  '/api/admin/task/decompress/pause': { input: { tid?: string }; answer: null };
  '/api/admin/task/decompress/resume': { input: { tid?: string }; answer: null };
  '/api/admin/task/decompress/retry': { input: { tid?: string }; answer: null };
  '/api/admin/task/decompress/retry_failed': { input: Record<string, never>; answer: null };
  '/api/admin/task/decompress/retry_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/decompress/undone': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/admin/task/decompress_upload/cancel': { input: { tid?: string }; answer: null };
  '/api/admin/task/decompress_upload/cancel_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/decompress_upload/clear_done': { input: Record<string, never>; answer: null };
  '/api/admin/task/decompress_upload/clear_succeeded': { input: Record<string, never>; answer: null };
  '/api/admin/task/decompress_upload/delete': { input: { tid?: string }; answer: null };
  '/api/admin/task/decompress_upload/delete_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/decompress_upload/done': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/admin/task/decompress_upload/info': { input: { tid?: string }; answer: { id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string } };
  '/api/admin/task/decompress_upload/pause': { input: { tid?: string }; answer: null };
  '/api/admin/task/decompress_upload/resume': { input: { tid?: string }; answer: null };
  '/api/admin/task/decompress_upload/retry': { input: { tid?: string }; answer: null };
  '/api/admin/task/decompress_upload/retry_failed': { input: Record<string, never>; answer: null };
  '/api/admin/task/decompress_upload/retry_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/decompress_upload/undone': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/admin/task/move/cancel': { input: { tid?: string }; answer: null };
  '/api/admin/task/move/cancel_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/move/clear_done': { input: Record<string, never>; answer: null };
  '/api/admin/task/move/clear_succeeded': { input: Record<string, never>; answer: null };
  '/api/admin/task/move/delete': { input: { tid?: string }; answer: null };
  '/api/admin/task/move/delete_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/move/done': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/admin/task/move/info': { input: { tid?: string }; answer: { id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string } };
  '/api/admin/task/move/pause': { input: { tid?: string }; answer: null };
  '/api/admin/task/move/resume': { input: { tid?: string }; answer: null };
  '/api/admin/task/move/retry': { input: { tid?: string }; answer: null };
  '/api/admin/task/move/retry_failed': { input: Record<string, never>; answer: null };
  '/api/admin/task/move/retry_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/move/undone': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/admin/task/offline_download/cancel': { input: { tid?: string }; answer: null };
  '/api/admin/task/offline_download/cancel_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/offline_download/clear_done': { input: Record<string, never>; answer: null };
  '/api/admin/task/offline_download/clear_succeeded': { input: Record<string, never>; answer: null };
  '/api/admin/task/offline_download/delete': { input: { tid?: string }; answer: null };
  '/api/admin/task/offline_download/delete_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/offline_download/done': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/admin/task/offline_download/info': { input: { tid?: string }; answer: { id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string } };
  '/api/admin/task/offline_download/pause': { input: { tid?: string }; answer: null };
  '/api/admin/task/offline_download/resume': { input: { tid?: string }; answer: null };
  '/api/admin/task/offline_download/retry': { input: { tid?: string }; answer: null };
  '/api/admin/task/offline_download/retry_failed': { input: Record<string, never>; answer: null };
  '/api/admin/task/offline_download/retry_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/offline_download/undone': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/admin/task/offline_download_transfer/cancel': { input: { tid?: string }; answer: null };
  '/api/admin/task/offline_download_transfer/cancel_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/offline_download_transfer/clear_done': { input: Record<string, never>; answer: null };
  '/api/admin/task/offline_download_transfer/clear_succeeded': { input: Record<string, never>; answer: null };
  '/api/admin/task/offline_download_transfer/delete': { input: { tid?: string }; answer: null };
  '/api/admin/task/offline_download_transfer/delete_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/offline_download_transfer/done': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/admin/task/offline_download_transfer/info': { input: { tid?: string }; answer: { id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string } };
  '/api/admin/task/offline_download_transfer/pause': { input: { tid?: string }; answer: null };
  '/api/admin/task/offline_download_transfer/resume': { input: { tid?: string }; answer: null };
  '/api/admin/task/offline_download_transfer/retry': { input: { tid?: string }; answer: null };
  '/api/admin/task/offline_download_transfer/retry_failed': { input: Record<string, never>; answer: null };
  '/api/admin/task/offline_download_transfer/retry_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/offline_download_transfer/undone': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/admin/task/upload/cancel': { input: { tid?: string }; answer: null };
  '/api/admin/task/upload/cancel_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/upload/clear_done': { input: Record<string, never>; answer: null };
  '/api/admin/task/upload/clear_succeeded': { input: Record<string, never>; answer: null };
  '/api/admin/task/upload/delete': { input: { tid?: string }; answer: null };
  '/api/admin/task/upload/delete_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/upload/done': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/admin/task/upload/info': { input: { tid?: string }; answer: { id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string } };
  '/api/admin/task/upload/pause': { input: { tid?: string }; answer: null };
  '/api/admin/task/upload/resume': { input: { tid?: string }; answer: null };
  '/api/admin/task/upload/retry': { input: { tid?: string }; answer: null };
  '/api/admin/task/upload/retry_failed': { input: Record<string, never>; answer: null };
  '/api/admin/task/upload/retry_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/admin/task/upload/undone': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/admin/upload/abort': { input: { upload_id?: string }; answer: null };
  '/api/admin/upload/list': { input: { page?: number; per_page?: number }; answer: { content: readonly ({ upload_id: string; username: string; path: string; size: number; received_bytes: number; chunk_size: number; created: string; expires: string; modified: string })[]; total: number } };
  '/api/admin/user/cancel_2fa': { input: { id: number | string }; answer: null };
  '/api/admin/user/create': { input: { id?: number | string; username: string; password?: string; base_path?: string; role?: number; disabled?: boolean; permission?: number; sso_id?: string; allow_ldap?: boolean; quota_bytes?: number }; answer: null };
  '/api/admin/user/del_cache': { input: Record<string, never>; answer: null };
  '/api/admin/user/delete': { input: { id: number | string }; answer: null };
  '/api/admin/user/get': { input: { id: number | string }; answer: { id: number; username: string; password: string; base_path: string; role: number; disabled: boolean; permission: number; sso_id: string; otp: boolean; allow_ldap: boolean; quota_bytes: number } | null };
  '/api/admin/user/list': { input: { page?: number; per_page?: number }; answer: { content: readonly ({ id: number; username: string; password: string; base_path: string; role: number; disabled: boolean; permission: number; sso_id: string; otp: boolean; allow_ldap: boolean; quota_bytes: number })[]; total: number } };
  '/api/admin/user/sshkey/delete': { input: { id: number | string }; answer: null };
  '/api/admin/user/sshkey/list': { input: { uid: number | string; page?: number; per_page?: number }; answer: { content: readonly ({ id: number; title: string; fingerprint: string; added_time: string; last_used_time: string })[]; total: number } };
  '/api/admin/user/update': { input: { id?: number | string; username: string; password?: string; base_path?: string; role?: number; disabled?: boolean; permission?: number; sso_id?: string; allow_ldap?: boolean; quota_bytes?: number }; answer: null };
  '/api/auth/2fa/generate': { input: Record<string, never>; answer: { qr: string; secret: string } };
  '/api/auth/2fa/recovery_codes': { input: { code: string }; answer: { codes: readonly (string)[] } };
  '/api/auth/2fa/verify': { input: { code: string; secret: string; otp_code?: string }; answer: null };
  '/api/auth/get_sso_id': { input: Record<string, never>; answer: null };
  '/api/auth/login': { input: { username: string; password?: string; otp_code?: string }; answer: { token: string } };
  '/api/auth/login/hash': { input: { username: string; password?: string; otp_code?: string }; answer: { token: string } };
  '/api/auth/login/ldap': { input: Record<string, never>; answer: null };
  '/api/auth/logout': { input: Record<string, never>; answer: null };
  '/api/auth/sso': { input: Record<string, never>; answer: null };
  '/api/auth/sso_callback': { input: Record<string, never>; answer: null };
  '/api/auth/sso_get_token': { input: Record<string, never>; answer: null };
  '/api/authn/delete_authn': { input: Record<string, never>; answer: null };
  '/api/authn/getcredentials': { input: Record<string, never>; answer: null };
  '/api/authn/rename_authn': { input: Record<string, never>; answer: null };
  '/api/authn/webauthn_begin_login': { input: Record<string, never>; answer: null };
  '/api/authn/webauthn_begin_registration': { input: Record<string, never>; answer: null };
  '/api/authn/webauthn_finish_login': { input: Record<string, never>; answer: null };
  '/api/authn/webauthn_finish_registration': { input: Record<string, never>; answer: null };
  '/api/fs/add_offline_download': { input: { urls?: readonly (string)[]; path?: string; tool?: string; delete_policy?: string; hashes?: { md5?: string; sha1?: string; sha256?: string } }; answer: { tasks: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] } };
  '/api/fs/archive/decompress': { input: Record<string, never>; answer: null };
  '/api/fs/archive/list': { input: Record<string, never>; answer: null };
  '/api/fs/archive/meta': { input: Record<string, never>; answer: null };
  '/api/fs/batch_rename': { input: { src_dir?: string; rename_objects?: readonly ({ src_name?: string; new_name?: string })[] }; answer: null };
  '/api/fs/copy': { input: { src_dir?: string; dst_dir?: string; names?: readonly (string)[]; overwrite?: boolean; skip_existing?: boolean; merge?: boolean }; answer: { message: string; tasks: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] } | null };
  '/api/fs/dirs': { input: { path?: string; password?: string; force_root?: boolean }; answer: readonly ({ name: string; modified: string })[] };
  '/api/fs/get': { input: { path?: string; password?: string; page?: number; per_page?: number; refresh?: boolean }; answer: { name: string; size: number; is_dir: boolean; modified: string; created: string; sign: string; thumb: string; type: number; hashinfo: string; hash_info: Record<string, string> | null; raw_url: string; readme: string; header: string; provider: string; related: readonly ({ name: string; size: number; is_dir: boolean; modified: string; created: string; sign: string; thumb: string; type: number; hashinfo: string; hash_info: Record<string, string> | null })[]; etag?: string } };
  '/api/fs/get_direct_upload_info': { input: Record<string, never>; answer: null };
  '/api/fs/link': { input: { path?: string }; answer: { url: string; header: Record<string, string>; Expiration: null; concurrency: number; part_size: number; content_length: number } };
  '/api/fs/list': { input: { path?: string; password?: string; page?: number; per_page?: number; refresh?: boolean }; answer: { content: readonly ({ name: string; size: number; is_dir: boolean; modified: string; created: string; sign: string; thumb: string; type: number; hashinfo: string; hash_info: Record<string, string> | null })[]; total: number; readme: string; header: string; write: boolean; write_content_bypass: boolean; provider: string } };
  '/api/fs/mkdir': { input: { path?: string }; answer: null };
  '/api/fs/move': { input: { src_dir?: string; dst_dir?: string; names?: readonly (string)[]; overwrite?: boolean; skip_existing?: boolean }; answer: { message: string; tasks: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] } | null };
  '/api/fs/multipart/abort': { input: { "X-Upload-Id": string }; answer: unknown };
  '/api/fs/multipart/complete': { input: { "X-Upload-Id": string }; answer: { upload_id: string; state: string; attempt: number; path: string; size: number; chunk_size: number; total_chunks: number; received: readonly (readonly (unknown)[])[]; received_bytes: number; frontier: number; storage_progress: number; resumed?: boolean; error?: string } };
  '/api/fs/multipart/init': { input: { "File-Path": string; "X-File-Size": string; "X-Chunk-Size"?: string; Overwrite?: string; "Last-Modified"?: string; "X-File-Md5"?: string }; answer: { upload_id: string; state: string; attempt: number; path: string; size: number; chunk_size: number; total_chunks: number; received: readonly (readonly (unknown)[])[]; received_bytes: number; frontier: number; storage_progress: number; resumed?: boolean; error?: string } };
  '/api/fs/multipart/list': { input: { page?: number; per_page?: number }; answer: { content: readonly ({ upload_id: string; username: string; path: string; size: number; received_bytes: number; chunk_size: number; created: string; expires: string; modified: string })[]; total: number } };
  '/api/fs/multipart/status': { input: { upload_id?: string; path?: string; size?: string; sums?: string }; answer: { upload_id: string; state: string; attempt: number; path: string; size: number; chunk_size: number; total_chunks: number; received: readonly (readonly (unknown)[])[]; received_bytes: number; frontier: number; storage_progress: number; resumed?: boolean; error?: string; sums?: readonly (number)[] } };
  '/api/fs/other': { input: { path?: string; method?: string; data?: unknown; password?: string }; answer: unknown };
  '/api/fs/recursive_move': { input: { src_dir?: string; dst_dir?: string; conflict_policy?: string }; answer: null };
  '/api/fs/regex_rename': { input: { src_dir?: string; src_name_regex?: string; new_name_regex?: string }; answer: null };
  '/api/fs/remove': { input: { dir?: string; names?: readonly (string)[] }; answer: null };
  '/api/fs/remove_empty_directory': { input: { src_dir?: string }; answer: null };
  '/api/fs/remove_if_empty': { input: { dir?: string; names?: readonly (string)[] }; answer: null };
  '/api/fs/rename': { input: { path?: string; name?: string; overwrite?: boolean }; answer: null };
  '/api/fs/search': { input: { parent?: string; keywords?: string; scope?: number; page?: number; per_page?: number; password?: string; in_folder?: boolean }; answer: { content: readonly ({ parent: string; name: string; is_dir: boolean; size: number; type: number })[]; total: number } };
  '/api/fs/torrent/generate': { input: Record<string, never>; answer: null };
  '/api/fs/torrent/parse': { input: Record<string, never>; answer: null };
  '/api/fs/torrent/rapid_upload': { input: Record<string, never>; answer: null };
  '/api/fs/torrent/upload_parse': { input: Record<string, never>; answer: null };
  '/api/me': { input: Record<string, never>; answer: { id: number; username: string; password: string; base_path: string; role: number; disabled: boolean; permission: number; sso_id: string; otp: boolean; allow_ldap: boolean; quota_bytes: number } };
  '/api/me/app_password/create': { input: { name: string; protocols?: readonly (string)[]; read_only?: boolean; path?: string; expires_time?: string }; answer: { id: number; password: string } };
  '/api/me/app_password/delete': { input: { id: number | string }; answer: null };
  '/api/me/app_password/list': { input: { page?: number; per_page?: number }; answer: { content: readonly ({ id: number; name: string; protocols: readonly (string)[]; read_only: boolean; path: string; created_time: string; expires_time: string; last_used_time: string })[]; total: number } };
  '/api/me/sessions': { input: Record<string, never>; answer: { content: readonly ({ id: string; address: string; created_time: string; expires_time: string; current: boolean; device: string })[] } };
  '/api/me/sessions/revoke': { input: { id: string }; answer: null };
  '/api/me/sshkey/add': { input: { title: string; key: string }; answer: null };
  '/api/me/sshkey/delete': { input: { id: number | string }; answer: null };
  '/api/me/sshkey/list': { input: { page?: number; per_page?: number }; answer: { content: readonly ({ id: number; title: string; fingerprint: string; added_time: string; last_used_time: string })[]; total: number } };
  '/api/me/update': { input: { username: string; password?: string; sso_id?: string }; answer: null };
  '/api/public/archive_extensions': { input: Record<string, never>; answer: readonly (string)[] };
  '/api/public/init_status': { input: Record<string, never>; answer: { initialized: boolean } };
  '/api/public/offline_download_tools': { input: Record<string, never>; answer: readonly (string)[] };
  '/api/public/settings': { input: Record<string, never>; answer: Record<string, string> };
  '/api/share/create': { input: Record<string, never>; answer: null };
  '/api/share/delete': { input: Record<string, never>; answer: null };
  '/api/share/disable': { input: Record<string, never>; answer: null };
  '/api/share/enable': { input: Record<string, never>; answer: null };
  '/api/share/get': { input: Record<string, never>; answer: null };
  '/api/share/list': { input: Record<string, never>; answer: { content: readonly (unknown)[]; total: number } };
  '/api/share/update': { input: Record<string, never>; answer: null };
  '/api/task/copy/cancel': { input: { tid?: string }; answer: null };
  '/api/task/copy/cancel_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/copy/clear_done': { input: Record<string, never>; answer: null };
  '/api/task/copy/clear_succeeded': { input: Record<string, never>; answer: null };
  '/api/task/copy/delete': { input: { tid?: string }; answer: null };
  '/api/task/copy/delete_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/copy/done': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/task/copy/info': { input: { tid?: string }; answer: { id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string } };
  '/api/task/copy/pause': { input: { tid?: string }; answer: null };
  '/api/task/copy/resume': { input: { tid?: string }; answer: null };
  '/api/task/copy/retry': { input: { tid?: string }; answer: null };
  '/api/task/copy/retry_failed': { input: Record<string, never>; answer: null };
  '/api/task/copy/retry_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/copy/undone': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/task/decompress/cancel': { input: { tid?: string }; answer: null };
  '/api/task/decompress/cancel_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/decompress/clear_done': { input: Record<string, never>; answer: null };
  '/api/task/decompress/clear_succeeded': { input: Record<string, never>; answer: null };
  '/api/task/decompress/delete': { input: { tid?: string }; answer: null };
  '/api/task/decompress/delete_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/decompress/done': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/task/decompress/info': { input: { tid?: string }; answer: { id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string } };
  '/api/task/decompress/pause': { input: { tid?: string }; answer: null };
  '/api/task/decompress/resume': { input: { tid?: string }; answer: null };
  '/api/task/decompress/retry': { input: { tid?: string }; answer: null };
  '/api/task/decompress/retry_failed': { input: Record<string, never>; answer: null };
  '/api/task/decompress/retry_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/decompress/undone': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/task/decompress_upload/cancel': { input: { tid?: string }; answer: null };
  '/api/task/decompress_upload/cancel_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/decompress_upload/clear_done': { input: Record<string, never>; answer: null };
  '/api/task/decompress_upload/clear_succeeded': { input: Record<string, never>; answer: null };
  '/api/task/decompress_upload/delete': { input: { tid?: string }; answer: null };
  '/api/task/decompress_upload/delete_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/decompress_upload/done': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/task/decompress_upload/info': { input: { tid?: string }; answer: { id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string } };
  '/api/task/decompress_upload/pause': { input: { tid?: string }; answer: null };
  '/api/task/decompress_upload/resume': { input: { tid?: string }; answer: null };
  '/api/task/decompress_upload/retry': { input: { tid?: string }; answer: null };
  '/api/task/decompress_upload/retry_failed': { input: Record<string, never>; answer: null };
  '/api/task/decompress_upload/retry_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/decompress_upload/undone': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/task/move/cancel': { input: { tid?: string }; answer: null };
  '/api/task/move/cancel_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/move/clear_done': { input: Record<string, never>; answer: null };
  '/api/task/move/clear_succeeded': { input: Record<string, never>; answer: null };
  '/api/task/move/delete': { input: { tid?: string }; answer: null };
  '/api/task/move/delete_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/move/done': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/task/move/info': { input: { tid?: string }; answer: { id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string } };
  '/api/task/move/pause': { input: { tid?: string }; answer: null };
  '/api/task/move/resume': { input: { tid?: string }; answer: null };
  '/api/task/move/retry': { input: { tid?: string }; answer: null };
  '/api/task/move/retry_failed': { input: Record<string, never>; answer: null };
  '/api/task/move/retry_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/move/undone': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/task/offline_download/cancel': { input: { tid?: string }; answer: null };
  '/api/task/offline_download/cancel_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/offline_download/clear_done': { input: Record<string, never>; answer: null };
  '/api/task/offline_download/clear_succeeded': { input: Record<string, never>; answer: null };
  '/api/task/offline_download/delete': { input: { tid?: string }; answer: null };
  '/api/task/offline_download/delete_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/offline_download/done': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/task/offline_download/info': { input: { tid?: string }; answer: { id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string } };
  '/api/task/offline_download/pause': { input: { tid?: string }; answer: null };
  '/api/task/offline_download/resume': { input: { tid?: string }; answer: null };
  '/api/task/offline_download/retry': { input: { tid?: string }; answer: null };
  '/api/task/offline_download/retry_failed': { input: Record<string, never>; answer: null };
  '/api/task/offline_download/retry_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/offline_download/undone': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/task/offline_download_transfer/cancel': { input: { tid?: string }; answer: null };
  '/api/task/offline_download_transfer/cancel_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/offline_download_transfer/clear_done': { input: Record<string, never>; answer: null };
  '/api/task/offline_download_transfer/clear_succeeded': { input: Record<string, never>; answer: null };
  '/api/task/offline_download_transfer/delete': { input: { tid?: string }; answer: null };
  '/api/task/offline_download_transfer/delete_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/offline_download_transfer/done': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/task/offline_download_transfer/info': { input: { tid?: string }; answer: { id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string } };
  '/api/task/offline_download_transfer/pause': { input: { tid?: string }; answer: null };
  '/api/task/offline_download_transfer/resume': { input: { tid?: string }; answer: null };
  '/api/task/offline_download_transfer/retry': { input: { tid?: string }; answer: null };
  '/api/task/offline_download_transfer/retry_failed': { input: Record<string, never>; answer: null };
  '/api/task/offline_download_transfer/retry_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/offline_download_transfer/undone': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/task/upload/cancel': { input: { tid?: string }; answer: null };
  '/api/task/upload/cancel_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/upload/clear_done': { input: Record<string, never>; answer: null };
  '/api/task/upload/clear_succeeded': { input: Record<string, never>; answer: null };
  '/api/task/upload/delete': { input: { tid?: string }; answer: null };
  '/api/task/upload/delete_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/upload/done': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
  '/api/task/upload/info': { input: { tid?: string }; answer: { id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string } };
  '/api/task/upload/pause': { input: { tid?: string }; answer: null };
  '/api/task/upload/resume': { input: { tid?: string }; answer: null };
  '/api/task/upload/retry': { input: { tid?: string }; answer: null };
  '/api/task/upload/retry_failed': { input: Record<string, never>; answer: null };
  '/api/task/upload/retry_some': { input: readonly (string)[]; answer: Record<string, string> };
  '/api/task/upload/undone': { input: { page?: number; per_page?: number }; answer: readonly ({ id: string; name: string; state: number; status: string; progress: number; error: string; error_code: string; creator: string; creator_role: number; start_time: unknown; end_time: unknown; total_bytes: number; paused: boolean; speed: number; eta: unknown; phase: string; list: string })[] };
}

/** The names of errors, as the header X-Error-Code has them. */
export type ErrorName = "INVALID_ARGUMENT" | "UNSAFE_PATH" | "UNAUTHENTICATED" | "OTP_REQUIRED" | "PERMISSION_DENIED" | "ENTRY_NOT_FOUND" | "MOUNT_NOT_FOUND" | "TASK_NOT_FOUND" | "RECORD_NOT_FOUND" | "ENTRY_EXISTS" | "RECORD_EXISTS" | "NOT_A_DIRECTORY" | "IS_A_DIRECTORY" | "DIRECTORY_NOT_EMPTY" | "FAILED_PRECONDITION" | "CIRCULAR_MOUNT" | "UNSUPPORTED_OPERATION" | "STORAGE_READ_ONLY" | "STALE_VERSION" | "RANGE_NOT_SATISFIABLE" | "QUOTA_EXCEEDED" | "RATE_LIMITED" | "OVERLOADED" | "STORAGE_LOGIN_FAILED" | "STORAGE_UNAVAILABLE" | "DEADLINE_EXCEEDED" | "CANCELLED" | "CONTENT_CORRUPT" | "INTERNAL";

/** How a call travels where that is not a POST with a body of JSON. */
export const TRAVELS: Readonly<Record<string, 'get' | 'query' | 'header'>> = {
  '/api/admin/audit/list': 'get',
  '/api/admin/driver/info': 'get',
  '/api/admin/driver/list': 'get',
  '/api/admin/driver/names': 'get',
  '/api/admin/index/build': 'query',
  '/api/admin/index/clear': 'query',
  '/api/admin/index/progress': 'query',
  '/api/admin/index/stop': 'query',
  '/api/admin/message/get': 'query',
  '/api/admin/message/send': 'query',
  '/api/admin/meta/delete': 'query',
  '/api/admin/meta/get': 'get',
  '/api/admin/meta/list': 'get',
  '/api/admin/scan/progress': 'get',
  '/api/admin/scan/start': 'query',
  '/api/admin/scan/stop': 'query',
  '/api/admin/setting/default': 'query',
  '/api/admin/setting/delete': 'query',
  '/api/admin/setting/get': 'get',
  '/api/admin/setting/list': 'get',
  '/api/admin/setting/reset_token': 'query',
  '/api/admin/setting/set_115': 'query',
  '/api/admin/setting/set_115_open': 'query',
  '/api/admin/setting/set_123_open': 'query',
  '/api/admin/setting/set_123_pan': 'query',
  '/api/admin/setting/set_guangyapan': 'query',
  '/api/admin/setting/set_pikpak': 'query',
  '/api/admin/setting/set_thunder': 'query',
  '/api/admin/setting/set_thunder_browser': 'query',
  '/api/admin/setting/set_thunderx': 'query',
  '/api/admin/state': 'get',
  '/api/admin/storage/delete': 'query',
  '/api/admin/storage/disable': 'query',
  '/api/admin/storage/enable': 'query',
  '/api/admin/storage/get': 'get',
  '/api/admin/storage/health': 'get',
  '/api/admin/storage/list': 'query',
  '/api/admin/storage/load_all': 'query',
  '/api/admin/task/copy/cancel': 'query',
  '/api/admin/task/copy/clear_done': 'query',
  '/api/admin/task/copy/clear_succeeded': 'query',
  '/api/admin/task/copy/delete': 'query',
  '/api/admin/task/copy/done': 'query',
  '/api/admin/task/copy/info': 'query',
  '/api/admin/task/copy/pause': 'query',
  '/api/admin/task/copy/resume': 'query',
  '/api/admin/task/copy/retry': 'query',
  '/api/admin/task/copy/retry_failed': 'query',
  '/api/admin/task/copy/undone': 'query',
  '/api/admin/task/decompress/cancel': 'query',
  '/api/admin/task/decompress/clear_done': 'query',
  '/api/admin/task/decompress/clear_succeeded': 'query',
  '/api/admin/task/decompress/delete': 'query',
  '/api/admin/task/decompress/done': 'query',
  '/api/admin/task/decompress/info': 'query',
  '/api/admin/task/decompress/pause': 'query',
  '/api/admin/task/decompress/resume': 'query',
  '/api/admin/task/decompress/retry': 'query',
  '/api/admin/task/decompress/retry_failed': 'query',
  '/api/admin/task/decompress/undone': 'query',
  '/api/admin/task/decompress_upload/cancel': 'query',
  '/api/admin/task/decompress_upload/clear_done': 'query',
  '/api/admin/task/decompress_upload/clear_succeeded': 'query',
  '/api/admin/task/decompress_upload/delete': 'query',
  '/api/admin/task/decompress_upload/done': 'query',
  '/api/admin/task/decompress_upload/info': 'query',
  '/api/admin/task/decompress_upload/pause': 'query',
  '/api/admin/task/decompress_upload/resume': 'query',
  '/api/admin/task/decompress_upload/retry': 'query',
  '/api/admin/task/decompress_upload/retry_failed': 'query',
  '/api/admin/task/decompress_upload/undone': 'query',
  '/api/admin/task/move/cancel': 'query',
  '/api/admin/task/move/clear_done': 'query',
  '/api/admin/task/move/clear_succeeded': 'query',
  '/api/admin/task/move/delete': 'query',
  '/api/admin/task/move/done': 'query',
  '/api/admin/task/move/info': 'query',
  '/api/admin/task/move/pause': 'query',
  '/api/admin/task/move/resume': 'query',
  '/api/admin/task/move/retry': 'query',
  '/api/admin/task/move/retry_failed': 'query',
  '/api/admin/task/move/undone': 'query',
  '/api/admin/task/offline_download/cancel': 'query',
  '/api/admin/task/offline_download/clear_done': 'query',
  '/api/admin/task/offline_download/clear_succeeded': 'query',
  '/api/admin/task/offline_download/delete': 'query',
  '/api/admin/task/offline_download/done': 'query',
  '/api/admin/task/offline_download/info': 'query',
  '/api/admin/task/offline_download/pause': 'query',
  '/api/admin/task/offline_download/resume': 'query',
  '/api/admin/task/offline_download/retry': 'query',
  '/api/admin/task/offline_download/retry_failed': 'query',
  '/api/admin/task/offline_download/undone': 'query',
  '/api/admin/task/offline_download_transfer/cancel': 'query',
  '/api/admin/task/offline_download_transfer/clear_done': 'query',
  '/api/admin/task/offline_download_transfer/clear_succeeded': 'query',
  '/api/admin/task/offline_download_transfer/delete': 'query',
  '/api/admin/task/offline_download_transfer/done': 'query',
  '/api/admin/task/offline_download_transfer/info': 'query',
  '/api/admin/task/offline_download_transfer/pause': 'query',
  '/api/admin/task/offline_download_transfer/resume': 'query',
  '/api/admin/task/offline_download_transfer/retry': 'query',
  '/api/admin/task/offline_download_transfer/retry_failed': 'query',
  '/api/admin/task/offline_download_transfer/undone': 'query',
  '/api/admin/task/upload/cancel': 'query',
  '/api/admin/task/upload/clear_done': 'query',
  '/api/admin/task/upload/clear_succeeded': 'query',
  '/api/admin/task/upload/delete': 'query',
  '/api/admin/task/upload/done': 'query',
  '/api/admin/task/upload/info': 'query',
  '/api/admin/task/upload/pause': 'query',
  '/api/admin/task/upload/resume': 'query',
  '/api/admin/task/upload/retry': 'query',
  '/api/admin/task/upload/retry_failed': 'query',
  '/api/admin/task/upload/undone': 'query',
  '/api/admin/upload/abort': 'query',
  '/api/admin/upload/list': 'get',
  '/api/admin/user/cancel_2fa': 'query',
  '/api/admin/user/del_cache': 'query',
  '/api/admin/user/delete': 'query',
  '/api/admin/user/get': 'get',
  '/api/admin/user/list': 'get',
  '/api/admin/user/sshkey/delete': 'query',
  '/api/admin/user/sshkey/list': 'get',
  '/api/auth/2fa/generate': 'query',
  '/api/auth/get_sso_id': 'query',
  '/api/auth/login/ldap': 'query',
  '/api/auth/logout': 'get',
  '/api/auth/sso': 'query',
  '/api/auth/sso_callback': 'query',
  '/api/auth/sso_get_token': 'query',
  '/api/authn/delete_authn': 'query',
  '/api/authn/getcredentials': 'query',
  '/api/authn/rename_authn': 'query',
  '/api/authn/webauthn_begin_login': 'query',
  '/api/authn/webauthn_begin_registration': 'query',
  '/api/authn/webauthn_finish_login': 'query',
  '/api/authn/webauthn_finish_registration': 'query',
  '/api/fs/archive/decompress': 'query',
  '/api/fs/archive/list': 'query',
  '/api/fs/archive/meta': 'query',
  '/api/fs/get_direct_upload_info': 'query',
  '/api/fs/multipart/abort': 'header',
  '/api/fs/multipart/complete': 'header',
  '/api/fs/multipart/init': 'header',
  '/api/fs/multipart/list': 'get',
  '/api/fs/multipart/status': 'get',
  '/api/fs/torrent/generate': 'query',
  '/api/fs/torrent/parse': 'query',
  '/api/fs/torrent/rapid_upload': 'query',
  '/api/fs/torrent/upload_parse': 'query',
  '/api/me': 'get',
  '/api/me/app_password/delete': 'query',
  '/api/me/app_password/list': 'get',
  '/api/me/sessions': 'get',
  '/api/me/sshkey/delete': 'query',
  '/api/me/sshkey/list': 'get',
  '/api/public/archive_extensions': 'query',
  '/api/public/init_status': 'query',
  '/api/public/offline_download_tools': 'query',
  '/api/public/settings': 'query',
  '/api/share/create': 'query',
  '/api/share/delete': 'query',
  '/api/share/disable': 'query',
  '/api/share/enable': 'query',
  '/api/share/get': 'query',
  '/api/share/list': 'query',
  '/api/share/update': 'query',
  '/api/task/copy/cancel': 'query',
  '/api/task/copy/clear_done': 'query',
  '/api/task/copy/clear_succeeded': 'query',
  '/api/task/copy/delete': 'query',
  '/api/task/copy/done': 'query',
  '/api/task/copy/info': 'query',
  '/api/task/copy/pause': 'query',
  '/api/task/copy/resume': 'query',
  '/api/task/copy/retry': 'query',
  '/api/task/copy/retry_failed': 'query',
  '/api/task/copy/undone': 'query',
  '/api/task/decompress/cancel': 'query',
  '/api/task/decompress/clear_done': 'query',
  '/api/task/decompress/clear_succeeded': 'query',
  '/api/task/decompress/delete': 'query',
  '/api/task/decompress/done': 'query',
  '/api/task/decompress/info': 'query',
  '/api/task/decompress/pause': 'query',
  '/api/task/decompress/resume': 'query',
  '/api/task/decompress/retry': 'query',
  '/api/task/decompress/retry_failed': 'query',
  '/api/task/decompress/undone': 'query',
  '/api/task/decompress_upload/cancel': 'query',
  '/api/task/decompress_upload/clear_done': 'query',
  '/api/task/decompress_upload/clear_succeeded': 'query',
  '/api/task/decompress_upload/delete': 'query',
  '/api/task/decompress_upload/done': 'query',
  '/api/task/decompress_upload/info': 'query',
  '/api/task/decompress_upload/pause': 'query',
  '/api/task/decompress_upload/resume': 'query',
  '/api/task/decompress_upload/retry': 'query',
  '/api/task/decompress_upload/retry_failed': 'query',
  '/api/task/decompress_upload/undone': 'query',
  '/api/task/move/cancel': 'query',
  '/api/task/move/clear_done': 'query',
  '/api/task/move/clear_succeeded': 'query',
  '/api/task/move/delete': 'query',
  '/api/task/move/done': 'query',
  '/api/task/move/info': 'query',
  '/api/task/move/pause': 'query',
  '/api/task/move/resume': 'query',
  '/api/task/move/retry': 'query',
  '/api/task/move/retry_failed': 'query',
  '/api/task/move/undone': 'query',
  '/api/task/offline_download/cancel': 'query',
  '/api/task/offline_download/clear_done': 'query',
  '/api/task/offline_download/clear_succeeded': 'query',
  '/api/task/offline_download/delete': 'query',
  '/api/task/offline_download/done': 'query',
  '/api/task/offline_download/info': 'query',
  '/api/task/offline_download/pause': 'query',
  '/api/task/offline_download/resume': 'query',
  '/api/task/offline_download/retry': 'query',
  '/api/task/offline_download/retry_failed': 'query',
  '/api/task/offline_download/undone': 'query',
  '/api/task/offline_download_transfer/cancel': 'query',
  '/api/task/offline_download_transfer/clear_done': 'query',
  '/api/task/offline_download_transfer/clear_succeeded': 'query',
  '/api/task/offline_download_transfer/delete': 'query',
  '/api/task/offline_download_transfer/done': 'query',
  '/api/task/offline_download_transfer/info': 'query',
  '/api/task/offline_download_transfer/pause': 'query',
  '/api/task/offline_download_transfer/resume': 'query',
  '/api/task/offline_download_transfer/retry': 'query',
  '/api/task/offline_download_transfer/retry_failed': 'query',
  '/api/task/offline_download_transfer/undone': 'query',
  '/api/task/upload/cancel': 'query',
  '/api/task/upload/clear_done': 'query',
  '/api/task/upload/clear_succeeded': 'query',
  '/api/task/upload/delete': 'query',
  '/api/task/upload/done': 'query',
  '/api/task/upload/info': 'query',
  '/api/task/upload/pause': 'query',
  '/api/task/upload/resume': 'query',
  '/api/task/upload/retry': 'query',
  '/api/task/upload/retry_failed': 'query',
  '/api/task/upload/undone': 'query',
};
