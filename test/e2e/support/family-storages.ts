/** A storage of a backup of the API family, as its servers write them, and what the report of an import is to say of it. */
export interface FamilyStorage {
  readonly driver: string;
  readonly addition: Readonly<Record<string, unknown>>;
  readonly outcome: 'created' | 'skipped';
  readonly note: string;
  /** It is imported enabled, and opens: it needs no server. */
  readonly opens?: true;
}

const REMOTE = { username: 'anna', password: 'secret', root_folder_path: '/' };
const created = { outcome: 'created', note: '' } as const;
const leftOut = (names: string) => `left out, as the driver has no such items: ${names}`;

/** Each kind of storage that both have, with the items of either branch of the family, and some that nobody has here. */
export const FAMILY_STORAGES: readonly FamilyStorage[] = [
  {
    driver: 'S3',
    addition: { bucket: 'b', endpoint: 's3.example.test', access_key_id: 'a', secret_access_key: 's', root_folder_path: '/' },
    ...created,
  },
  { driver: 'SFTP', addition: { ...REMOTE, address: 'files.example.test:22', private_key: '', ignore_symlink_error: false }, ...created },
  { driver: 'FTP', addition: { ...REMOTE, address: 'files.example.test:21', encoding: 'utf-8' }, ...created },
  { driver: 'SMB', addition: { ...REMOTE, root_folder_path: '.', address: 'files.example.test:445', share_name: 'documents' }, ...created },
  { driver: 'WebDav', addition: { ...REMOTE, vendor: 'other', address: 'https://files.example.test/dav' }, ...created },
  {
    driver: 'OpenList',
    addition: { root_folder_path: '/', url: 'https://files.example.test', meta_password: '', username: '', password: '', token: 't' },
    ...created,
  },
  {
    driver: 'AList V3',
    addition: { root_folder_path: '/', url: 'https://files.example.test', token: 't', pass_ua_to_upsteam: true },
    ...created,
  },
  {
    driver: 'Alias',
    addition: { paths: '/local', protect_same_name: true, download_concurrency: 0 },
    ...{ outcome: 'created', note: leftOut('protect_same_name'), opens: true },
  },
  {
    driver: 'Crypt',
    addition: {
      ...{ filename_encryption: 'standard', directory_name_encryption: 'true', remote_path: '/local', filename_encoding: 'base64' },
      ...{
        password: '___Obfuscated___De3GrjYTCxq1o80jUjuDIn_J9XABNA',
        salt: '',
        encrypted_suffix: '.bin',
        thumbnail: false,
        show_hidden: true,
      },
    },
    ...{ ...created, opens: true },
  },
  {
    driver: 'UrlTree',
    addition: { url_structure: 'films:\n  a.mkv:10:https://files.example.test/a.mkv', head_size: false },
    ...created,
    opens: true,
  },
  {
    driver: 'Virtual',
    addition: { root_folder_path: '', num_file: 3, num_folder: 2, max_file_size: 20, min_file_size: 10 },
    ...created,
    opens: true,
  },
  { driver: 'Strm', addition: { paths: '/local', siteUrl: 'https://files.example.test', encodePath: true }, ...created, opens: true },
  { driver: 'GoogleDrive', addition: { refresh_token: 't' }, outcome: 'skipped', note: 'no driver named: GoogleDrive' },
  { driver: '115 Cloud', addition: { cookie: 'c' }, outcome: 'skipped', note: 'no driver named: 115 Cloud' },
];
