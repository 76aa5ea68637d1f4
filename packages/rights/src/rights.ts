/** Roles, by their numbers on the wire (docs/api-family.md#logging-in): exactly one guest and one admin exist. */
export const ROLE = { general: 0, guest: 1, admin: 2 } as const;

/** What each permission bit allows, from bit 0 up. The names are those that clients know. */
export const PERMISSION_MEANINGS = {
  see_hides: 'seeing entries that a path rule hides',
  access_without_password: 'entering folders that a path rule puts behind a password, without it',
  offline_download: 'handing URLs and torrents to the server to download',
  write: 'making folders, uploading, and having a listing read afresh (`refresh`)',
  rename: 'renaming, one or many at a time',
  move: 'moving',
  copy: 'copying',
  delete: 'removing entries and empty folders',
  webdav_read: 'reading over WebDAV, and any use of it',
  webdav_manage: 'changing things over WebDAV',
  ftp_read: 'logging in and reading over FTP and SFTP',
  ftp_manage: 'changing things over FTP and SFTP',
  read_archives: 'looking into archives',
  decompress: 'unpacking archives',
  share: 'sharing; a share stops being valid when its maker loses the bit',
  customize_share_id: 'choosing the id of a share',
} as const;

export type PermissionName = keyof typeof PERMISSION_MEANINGS;

/** The value of each bit within `permission`. */
export const PERMISSION = Object.fromEntries(Object.keys(PERMISSION_MEANINGS).map((name, bit) => [name, 1 << bit])) as Readonly<
  Record<PermissionName, number>
>;

/** Every bit. The admin is stored and shown with all of them: clients test bits, never the role. */
export const ALL_PERMISSIONS = Object.values(PERMISSION).reduce((all, bit) => all | bit, 0);

/** What decides what somebody may do, beside path rules. */
export interface Rights {
  /** One of {@link ROLE}. */
  readonly role: number;
  /** Bits of {@link PERMISSION}. */
  readonly permission: number;
}

/** The admin may do everything, whatever the bits say. */
export function isAdmin(who: Pick<Rights, 'role'>): boolean {
  return who.role === ROLE.admin;
}

export function hasPermission(who: Rights, name: PermissionName): boolean {
  return isAdmin(who) || (who.permission & PERMISSION[name]) !== 0;
}
