/**
 * Collections for which the embedded store keeps its last documents, by name: what a login needs, and whoever makes room then, and what the admin
 * configures. All others are refused before. Strangers decide how many failed attempts there are: these have the first half of what is kept.
 */
export const KEPT_FOR: readonly string[] = [
  ...['users', 'sessions', 'login_attempts/2', 'login_addresses', 'permanent_tokens', 'auth_counters'],
  ...['storages', 'metas', 'settings', 'admin_counters', 'fs_counters', 'quota_ledgers'],
];
