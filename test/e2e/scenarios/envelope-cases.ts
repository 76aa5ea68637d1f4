import { expect } from 'vitest';

/** One request and the envelope it must get (docs/api-family.md#envelope). */
export interface EnvelopeCase {
  readonly as: 'admin' | 'user' | 'guest' | 'nobody';
  /** Method and path with its query; `{folder}` stands for a folder with `file.txt`, `other.txt` and the folder `sub`. */
  readonly call: string;
  readonly body?: unknown;
  readonly code: number;
  /** The literal message, or a pattern where the family leaves it open. */
  readonly message: string | RegExp;
  /** Default null. */
  readonly data?: unknown;
}

const ANY_OBJECT: unknown = expect.any(Object);
const ANY_LIST: unknown = expect.any(Array);
const ANYTHING: unknown = expect.toSatisfy(() => true);

const RELATIVE = { code: 403, message: 'using relative path is not allowed' } as const;
const DENIED = { code: 403, message: 'permission denied' } as const;
const NO_PASSWORD = { code: 403, message: 'password is incorrect or you have no permission' } as const;
const INVALID = { code: 400, message: /./ } as const;
const NO_TASK = { code: 404, message: 'task not found' } as const;
const NO_SEARCH = { code: 404, message: 'search not available' } as const;

const TASK_KINDS = ['upload', 'copy', 'move', 'offline_download', 'offline_download_transfer', 'decompress', 'decompress_upload'];

const taskCases = (prefix: string): EnvelopeCase[] =>
  TASK_KINDS.flatMap((kind) => [
    ...['info', 'cancel', 'delete', 'retry', 'pause', 'resume'].map(
      (verb): EnvelopeCase => ({ as: 'admin', call: `POST ${prefix}/${kind}/${verb}?tid=unknown`, ...NO_TASK }),
    ),
    ...['cancel_some', 'delete_some', 'retry_some'].map(
      (verb): EnvelopeCase => ({
        as: 'admin',
        call: `POST ${prefix}/${kind}/${verb}`,
        body: 'no list',
        code: 400,
        message: 'invalid request format',
      }),
    ),
    ...['undone', 'done'].map(
      (verb): EnvelopeCase => ({ as: 'admin', call: `GET ${prefix}/${kind}/${verb}`, code: 200, message: 'success', data: ANY_LIST }),
    ),
    ...['clear_done', 'clear_succeeded', 'retry_failed'].map(
      (verb): EnvelopeCase => ({ as: 'admin', call: `POST ${prefix}/${kind}/${verb}`, code: 200, message: 'success' }),
    ),
  ]);

const fileCases: EnvelopeCase[] = [
  {
    as: 'admin',
    call: 'POST /api/fs/list',
    body: { path: '{folder}/missing' },
    code: 500,
    message: 'failed get objs: failed get dir: object not found',
  },
  { as: 'admin', call: 'POST /api/fs/list', body: { path: '{folder}/file.txt' }, code: 500, message: 'failed get objs: not a folder' },
  {
    as: 'admin',
    call: 'POST /api/fs/list',
    body: { path: '/nowhere' },
    code: 500,
    message: 'failed get storage: storage not found; rawPath: /nowhere',
  },
  { as: 'admin', call: 'POST /api/fs/list', body: { path: '{folder}/..' }, ...RELATIVE },
  { as: 'user', call: 'POST /api/fs/list', body: { path: '{folder}', refresh: true }, code: 403, message: 'Refresh without permission' },
  { as: 'user', call: 'POST /api/fs/list', body: { path: '{folder}/guarded' }, ...NO_PASSWORD },
  { as: 'user', call: 'POST /api/fs/list', body: { path: '{folder}/guarded', password: 'wrong' }, ...NO_PASSWORD },
  { as: 'admin', call: 'POST /api/fs/list', body: { path: '/@s/abc' }, code: 500, message: 'the share does not exist' },
  { as: 'admin', call: 'POST /api/fs/get', body: { path: '{folder}/missing' }, code: 500, message: /object not found$/ },
  { as: 'admin', call: 'POST /api/fs/get', body: { path: '{folder}/file.txt/below' }, code: 500, message: /object not found$/ },
  { as: 'admin', call: 'POST /api/fs/get', body: { path: '..' }, ...RELATIVE },
  { as: 'user', call: 'POST /api/fs/get', body: { path: '{folder}/guarded' }, ...NO_PASSWORD },
  { as: 'user', call: 'POST /api/fs/dirs', body: { path: '{folder}', force_root: true }, code: 403, message: 'Permission denied' },
  { as: 'admin', call: 'POST /api/fs/dirs', body: { path: 'x/../..' }, ...RELATIVE },
  { as: 'user', call: 'POST /api/fs/dirs', body: { path: '{folder}/guarded' }, ...NO_PASSWORD },
  {
    as: 'admin',
    call: 'POST /api/fs/search',
    body: { parent: '/', keywords: 'x', scope: 0, page: 1, per_page: 1, password: '' },
    ...NO_SEARCH,
  },
  {
    as: 'admin',
    call: 'POST /api/fs/other',
    body: { path: '{folder}/file.txt', method: 'dance' },
    code: 500,
    message: /^not (implement|support)$/,
  },
  { as: 'user', call: 'POST /api/fs/link', body: { path: '{folder}/file.txt' }, code: 403, message: 'You are not an admin' },
  { as: 'admin', call: 'POST /api/fs/link', body: { path: '{folder}/missing' }, code: 500, message: /object not found$/ },
  { as: 'user', call: 'POST /api/fs/mkdir', body: { path: '{folder}/new' }, ...DENIED },
  { as: 'admin', call: 'POST /api/fs/mkdir', body: { path: '{folder}/file.txt' }, code: 500, message: 'file exists' },
  { as: 'admin', call: 'POST /api/fs/mkdir', body: { path: '{folder}/../x' }, ...RELATIVE },
  { as: 'admin', call: 'POST /api/fs/mkdir', body: { path: '{folder}/sub' }, code: 200, message: 'success' },
  { as: 'user', call: 'POST /api/fs/rename', body: { path: '{folder}/file.txt', name: 'x' }, ...DENIED },
  {
    as: 'admin',
    call: 'POST /api/fs/rename',
    body: { path: '{folder}/file.txt', name: 'other.txt' },
    code: 403,
    message: 'file [other.txt] exists',
  },
  { as: 'admin', call: 'POST /api/fs/rename', body: { path: '{folder}/file.txt', name: 'file.txt' }, code: 200, message: 'success' },
  ...['', '.', '..', 'a/b', 'a\\b', '/', '../x'].map(
    (name): EnvelopeCase => ({ as: 'admin', call: 'POST /api/fs/rename', body: { path: '{folder}/file.txt', name }, ...RELATIVE }),
  ),
  {
    as: 'admin',
    call: 'POST /api/fs/rename',
    body: { path: '/local', name: 'x' },
    code: 500,
    message: 'rename root folder is not allowed',
  },
  { as: 'admin', call: 'POST /api/fs/rename', body: { path: '{folder}/missing', name: 'x' }, code: 500, message: /object not found$/ },
  { as: 'user', call: 'POST /api/fs/batch_rename', body: { src_dir: '{folder}', rename_objects: [] }, ...DENIED },
  { as: 'user', call: 'POST /api/fs/regex_rename', body: { src_dir: '{folder}', src_name_regex: 'a', new_name_regex: 'b' }, ...DENIED },
  ...(['move', 'copy'] as const).flatMap((verb): EnvelopeCase[] => [
    { as: 'user', call: `POST /api/fs/${verb}`, body: { src_dir: '{folder}', dst_dir: '{folder}/sub', names: ['file.txt'] }, ...DENIED },
    {
      as: 'admin',
      call: `POST /api/fs/${verb}`,
      body: { src_dir: '{folder}', dst_dir: '{folder}/sub', names: [] },
      code: 400,
      message: 'Empty file names',
    },
    {
      as: 'admin',
      call: `POST /api/fs/${verb}`,
      body: { src_dir: '{folder}', dst_dir: '{folder}/sub' },
      code: 400,
      message: 'Empty file names',
    },
    {
      as: 'admin',
      call: `POST /api/fs/${verb}`,
      body: { src_dir: '{folder}', dst_dir: '{folder}', names: ['file.txt'] },
      code: 500,
      message: `${verb} in place`,
    },
    {
      as: 'admin',
      call: `POST /api/fs/${verb}`,
      body: { src_dir: '{folder}', dst_dir: '{folder}/sub', names: ['taken.txt'] },
      code: 403,
      message: 'file [taken.txt] exists',
    },
    { as: 'admin', call: `POST /api/fs/${verb}`, body: { src_dir: '{folder}', dst_dir: '{folder}/..', names: ['file.txt'] }, ...RELATIVE },
    {
      as: 'admin',
      call: `POST /api/fs/${verb}`,
      body: { src_dir: '{folder}', dst_dir: '{folder}/sub', names: ['missing'] },
      code: 500,
      message: /object not found$/,
    },
    {
      as: 'admin',
      call: `POST /api/fs/${verb}`,
      body: { src_dir: '{folder}', dst_dir: '{folder}/sub', names: ['/'] },
      code: 400,
      message: 'invalid file name [/]',
    },
  ]),
  {
    as: 'admin',
    call: 'POST /api/fs/move',
    body: { src_dir: '/', dst_dir: '{folder}', names: ['local'] },
    code: 500,
    message: 'move root folder is not allowed',
  },
  { as: 'user', call: 'POST /api/fs/recursive_move', body: { src_dir: '{folder}', dst_dir: '{folder}/sub' }, ...DENIED },
  { as: 'user', call: 'POST /api/fs/remove', body: { dir: '{folder}', names: ['file.txt'] }, ...DENIED },
  { as: 'admin', call: 'POST /api/fs/remove', body: { dir: '{folder}', names: [] }, code: 400, message: 'Empty file names' },
  {
    as: 'admin',
    call: 'POST /api/fs/remove',
    body: { dir: '/', names: ['local'] },
    code: 500,
    message: 'delete root folder is not allowed',
  },
  { as: 'admin', call: 'POST /api/fs/remove', body: { dir: '{folder}', names: ['missing'] }, code: 200, message: 'success' },
  { as: 'user', call: 'POST /api/fs/remove_if_empty', body: { dir: '{folder}', names: ['a.txt'] }, ...DENIED },
  { as: 'user', call: 'POST /api/fs/remove_empty_directory', body: { src_dir: '{folder}' }, ...DENIED },
  {
    as: 'user',
    call: 'POST /api/fs/add_offline_download',
    body: { urls: [], path: '{folder}', tool: 'SimpleHttp', delete_policy: 'delete_never' },
    ...DENIED,
  },
  { as: 'admin', call: 'POST /api/fs/multipart/init', code: 400, message: 'File-Path is required: the percent-encoded target path' },
  { as: 'admin', call: 'GET /api/fs/multipart/list?page=x', ...INVALID },
  { as: 'admin', call: 'GET /api/fs/multipart/status', code: 400, message: 'upload_id is required, or path and size' },
  ...['POST complete', 'POST abort', 'PUT chunk'].map((call): EnvelopeCase => {
    const [method = '', verb = ''] = call.split(' ');
    return { as: 'admin', call: `${method} /api/fs/multipart/${verb}`, code: 400, message: 'X-Upload-Id is required' };
  }),
  ...[
    'archive/meta',
    'archive/list',
    'archive/decompress',
    'get_direct_upload_info',
    'torrent/parse',
    'torrent/upload_parse',
    'torrent/rapid_upload',
    'torrent/generate',
  ].map((path): EnvelopeCase => ({ as: 'admin', call: `POST /api/fs/${path}`, code: 500, message: 'not implement' })),
  { as: 'admin', call: 'PUT /api/fs/put', ...INVALID },
  { as: 'admin', call: 'PUT /api/fs/form', ...INVALID },
  { as: 'nobody', call: 'PUT /api/fs/put', code: 401, message: 'Guest user is disabled, login please' },
  { as: 'nobody', call: 'PUT /api/fs/form', code: 401, message: 'Guest user is disabled, login please' },
];

const accountCases: EnvelopeCase[] = [
  { as: 'nobody', call: 'POST /api/auth/login', body: {}, ...INVALID },
  {
    as: 'nobody',
    call: 'POST /api/auth/login',
    body: { username: 'admin', password: 'wrong' },
    code: 401,
    message: 'Invalid username or password',
  },
  { as: 'nobody', call: 'POST /api/auth/login/hash', body: { password: 'x' }, ...INVALID },
  {
    as: 'nobody',
    call: 'POST /api/auth/login/hash',
    body: { username: 'admin', password: '' },
    code: 401,
    message: 'Invalid username or password',
  },
  { as: 'nobody', call: 'GET /api/auth/logout', code: 401, message: 'Guest user is disabled, login please' },
  { as: 'nobody', call: 'POST /api/auth/2fa/generate', code: 401, message: 'Guest user is disabled, login please' },
  { as: 'nobody', call: 'POST /api/auth/2fa/recovery_codes', code: 401, message: 'Guest user is disabled, login please' },
  { as: 'admin', call: 'POST /api/auth/2fa/verify', body: { code: '' }, ...INVALID },
  { as: 'nobody', call: 'POST /api/auth/login/ldap', code: 403, message: /./ },
  ...['sso', 'sso_callback', 'get_sso_id', 'sso_get_token'].map(
    (path): EnvelopeCase => ({ as: 'nobody', call: `GET /api/auth/${path}`, code: 403, message: /./ }),
  ),
  ...[
    'webauthn_begin_login',
    'webauthn_finish_login',
    'webauthn_begin_registration',
    'webauthn_finish_registration',
    'delete_authn',
    'rename_authn',
    'getcredentials',
  ].map((path): EnvelopeCase => ({ as: 'nobody', call: `GET /api/authn/${path}`, code: 403, message: /./ })),
  { as: 'nobody', call: 'GET /api/me', code: 401, message: 'Guest user is disabled, login please' },
  { as: 'admin', call: 'POST /api/me/update', body: { password: 'x' }, ...INVALID },
  { as: 'nobody', call: 'GET /api/me/sessions', code: 401, message: 'Guest user is disabled, login please' },
  { as: 'nobody', call: 'POST /api/me/sessions/revoke?id=x', code: 401, message: 'Guest user is disabled, login please' },
  { as: 'nobody', call: 'GET /api/me/sshkey/list', code: 401, message: 'Guest user is disabled, login please' },
  { as: 'admin', call: 'POST /api/me/sshkey/add', body: { title: '', key: '' }, code: 400, message: 'request invalid' },
  { as: 'admin', call: 'POST /api/me/sshkey/delete?id=x', code: 400, message: 'id format invalid' },
  { as: 'user', call: 'POST /api/me/sshkey/delete?id=99999', code: 404, message: 'failed to get public key' },
  { as: 'guest', call: 'GET /api/me/sshkey/list', code: 401, message: 'user invalid' },
  { as: 'guest', call: 'POST /api/me/update', body: { username: 'x' }, code: 403, message: 'Guest user can not update profile' },
  { as: 'guest', call: 'POST /api/auth/2fa/generate', code: 403, message: 'Guest user can not generate 2FA code' },
  { as: 'user', call: 'POST /api/auth/2fa/verify', body: { code: '0', secret: 'x' }, code: 400, message: 'Invalid 2FA code' },
  { as: 'user', call: 'POST /api/auth/2fa/recovery_codes', body: { code: '0' }, code: 500, message: 'two-step verification is off' },
  { as: 'user', call: 'POST /api/me/sessions/revoke', body: { id: 'x' }, code: 404, message: 'session not found' },
  { as: 'guest', call: 'GET /api/me/app_password/list', code: 403, message: 'You are a guest' },
  { as: 'user', call: 'POST /api/me/app_password/create', body: { name: 'x', protocols: ['http'] }, code: 400, message: /^protocols / },
  { as: 'user', call: 'POST /api/me/app_password/delete?id=99999', code: 404, message: 'app password not found' },
  { as: 'admin', call: 'GET /api/admin/audit/list?since=x', code: 400, message: /^since / },
  { as: 'guest', call: 'POST /api/fs/mkdir', body: { path: '{folder}/new' }, ...DENIED },
  { as: 'guest', call: 'GET /api/task/copy/done', code: 403, message: 'You are a guest' },
  { as: 'guest', call: 'GET /api/share/list', code: 403, message: 'You are a guest' },
  { as: 'guest', call: 'GET /api/admin/user/list', code: 403, message: 'You are not an admin' },
  { as: 'nobody', call: 'GET /api/public/settings', code: 200, message: 'success', data: ANY_OBJECT },
  { as: 'nobody', call: 'GET /api/public/offline_download_tools', code: 200, message: 'success', data: ANY_LIST },
  { as: 'nobody', call: 'GET /api/public/archive_extensions', code: 200, message: 'success', data: [] },
  { as: 'nobody', call: 'GET /api/public/init_status', code: 200, message: 'success', data: ANY_OBJECT },
];

const adminCases: EnvelopeCase[] = [
  { as: 'admin', call: 'GET /api/admin/user/list?page=x', ...INVALID },
  { as: 'admin', call: 'GET /api/admin/user/get?id=99999', code: 500, message: 'failed get old user: record not found' },
  { as: 'admin', call: 'GET /api/admin/user/get?id=x', ...INVALID },
  { as: 'admin', call: 'POST /api/admin/user/create', body: { username: '' }, ...INVALID },
  {
    as: 'admin',
    call: 'POST /api/admin/user/create',
    body: { username: 'x', role: 2 },
    code: 400,
    message: 'admin or guest user can not be created',
  },
  { as: 'admin', call: 'POST /api/admin/user/create', body: { username: 'ADMIN', role: 0 }, code: 500, message: /./ },
  {
    as: 'admin',
    call: 'POST /api/admin/user/update',
    body: { id: 1, username: 'admin', role: 0 },
    code: 400,
    message: 'role can not be changed',
  },
  {
    as: 'admin',
    call: 'POST /api/admin/user/update',
    body: { id: 1, username: 'admin', role: 2, disabled: true },
    code: 400,
    message: 'admin user can not be disabled',
  },
  { as: 'admin', call: 'POST /api/admin/user/delete?id=1', code: 500, message: 'cannot delete admin or guest' },
  { as: 'admin', call: 'POST /api/admin/user/cancel_2fa', ...INVALID },
  { as: 'admin', call: 'POST /api/admin/user/del_cache?username=x', code: 200, message: 'success' },
  { as: 'admin', call: 'GET /api/admin/user/sshkey/list?uid=x', ...INVALID },
  { as: 'admin', call: 'POST /api/admin/user/sshkey/delete', ...INVALID },
  { as: 'admin', call: 'GET /api/admin/storage/list?page=x', ...INVALID },
  { as: 'admin', call: 'GET /api/admin/upload/list?page=x', ...INVALID },
  { as: 'admin', call: 'POST /api/admin/upload/abort?upload_id=none', code: 404, message: 'there is no such upload' },
  { as: 'admin', call: 'GET /api/admin/storage/get?id=99999', code: 500, message: /record not found$/ },
  {
    as: 'admin',
    call: 'POST /api/admin/storage/create',
    body: { mount_path: '/x', driver: 'Nothing' },
    code: 500,
    message: 'failed get driver new: no driver named: Nothing',
    data: { id: 0 },
  },
  { as: 'admin', call: 'POST /api/admin/storage/create', body: { driver: 'Local' }, ...INVALID, data: ANYTHING },
  {
    as: 'admin',
    call: 'POST /api/admin/storage/create',
    body: { mount_path: '/local', driver: 'Local', addition: '{}' },
    code: 500,
    message: /^failed create storage in database: /,
    data: { id: 0 },
  },
  {
    as: 'admin',
    call: 'POST /api/admin/storage/update',
    body: { id: 1, mount_path: '/local', driver: 'Other' },
    code: 500,
    message: 'driver cannot be changed',
    data: ANYTHING,
  },
  ...['delete', 'enable', 'disable'].map(
    (verb): EnvelopeCase => ({ as: 'admin', call: `POST /api/admin/storage/${verb}?id=99999`, code: 500, message: /record not found$/ }),
  ),
  {
    as: 'admin',
    call: 'GET /api/admin/state',
    code: 200,
    message: 'success',
    data: { version: expect.stringMatching(/^\d+\.\d+/), node_version: expect.any(String), services: expect.any(Array) },
  },
  {
    as: 'admin',
    call: 'GET /api/admin/storage/health',
    code: 200,
    message: 'success',
    data: { content: expect.any(Array), total: expect.any(Number), replica: expect.any(String) },
  },
  { as: 'admin', call: 'POST /api/admin/storage/test', body: { driver: 'Nothing' }, code: 500, message: /no driver named: Nothing$/ },
  { as: 'admin', call: 'POST /api/admin/storage/enable?id=1', code: 500, message: 'this storage have enabled' },
  { as: 'user', call: 'POST /api/admin/storage/load_all', code: 403, message: 'You are not an admin' },
  { as: 'admin', call: 'GET /api/admin/driver/list', code: 200, message: 'success', data: ANY_OBJECT },
  { as: 'admin', call: 'GET /api/admin/driver/names', code: 200, message: 'success', data: ANY_LIST },
  { as: 'admin', call: 'GET /api/admin/driver/info?driver=Nothing', code: 404, message: 'driver [Nothing] not found' },
  { as: 'admin', call: 'POST /api/admin/driver/options', body: { driver: 'Nothing' }, code: 404, message: /no driver named: Nothing$/ },
  { as: 'admin', call: 'POST /api/admin/driver/options', body: { driver: 'Local' }, code: 200, message: 'success', data: [] },
  { as: 'user', call: 'POST /api/admin/driver/options', body: { driver: 'Local' }, code: 403, message: 'You are not an admin' },
  { as: 'admin', call: 'POST /api/admin/config/export', body: { passphrase: 'short' }, code: 400, message: /^the passphrase must have/ },
  { as: 'admin', call: 'POST /api/admin/config/import', body: { document: '{}' }, code: 400, message: /^the file has no settings/ },
  { as: 'admin', call: 'GET /api/admin/setting/list?group=x', ...INVALID },
  { as: 'admin', call: 'GET /api/admin/setting/get?key=nothing', code: 400, message: 'record not found' },
  { as: 'admin', call: 'POST /api/admin/setting/save', body: [{ value: 'x' }], ...INVALID },
  { as: 'admin', call: 'POST /api/admin/setting/save', body: { key: 'x' }, ...INVALID },
  { as: 'admin', call: 'POST /api/admin/setting/delete?key=site_title', code: 500, message: 'setting [site_title] is not deprecated' },
  { as: 'admin', call: 'POST /api/admin/setting/default?group=x', ...INVALID },
  { as: 'user', call: 'POST /api/admin/setting/reset_token', code: 403, message: 'You are not an admin' },
  ...['set_rpcdl', 'set_aria2', 'set_torrent', 'set_qbit'].map(
    (name): EnvelopeCase => ({ as: 'admin', call: `POST /api/admin/setting/${name}`, body: { uri: 1, url: 1 }, ...INVALID }),
  ),
  ...['transmission', '115', '115_open', '123_pan', '123_open', 'pikpak', 'thunder', 'thunderx', 'thunder_browser', 'guangyapan'].map(
    (tool): EnvelopeCase => ({ as: 'admin', call: `POST /api/admin/setting/set_${tool}`, body: {}, code: 500, message: /./ }),
  ),
  { as: 'admin', call: 'GET /api/admin/meta/list?per_page=x', ...INVALID },
  { as: 'admin', call: 'GET /api/admin/meta/get?id=99999', code: 500, message: /record not found$/ },
  { as: 'admin', call: 'POST /api/admin/meta/explain', body: { path: '' }, ...INVALID },
  { as: 'admin', call: 'POST /api/admin/meta/explain', body: { path: '/..' }, code: 403, message: /relative path is not allowed$/ },
  { as: 'user', call: 'POST /api/admin/meta/explain', body: { path: '/' }, code: 403, message: 'You are not an admin' },
  { as: 'admin', call: 'POST /api/admin/meta/create', body: { path: '' }, ...INVALID },
  { as: 'admin', call: 'POST /api/admin/meta/create', body: { path: '/local/x', hide: '(' }, code: 400, message: /^\( is illegal: / },
  { as: 'admin', call: 'POST /api/admin/meta/update', body: { id: 99999, path: '/local/x' }, code: 500, message: /record not found$/ },
  { as: 'admin', call: 'POST /api/admin/meta/delete?id=99999', code: 500, message: /record not found$/ },
  ...['build', 'update', 'stop', 'clear', 'progress'].map(
    (verb): EnvelopeCase => ({ as: 'admin', call: `POST /api/admin/index/${verb}`, ...NO_SEARCH }),
  ),
  { as: 'admin', call: 'POST /api/admin/message/get', code: 404, message: 'no message' },
  { as: 'admin', call: 'POST /api/admin/message/send', body: { message: 'x' }, code: 500, message: 'nowhere needed' },
  { as: 'admin', call: 'POST /api/admin/scan/start', code: 500, message: /./ },
  { as: 'admin', call: 'POST /api/admin/scan/stop', code: 400, message: 'manual scan is not running' },
  { as: 'admin', call: 'GET /api/admin/scan/progress', code: 200, message: 'success', data: { obj_count: 0, is_done: true } },
  { as: 'user', call: 'GET /api/share/list', code: 200, message: 'success', data: { content: [], total: 0 } },
  ...['get', 'update', 'delete', 'enable', 'disable'].map(
    (verb): EnvelopeCase => ({ as: 'user', call: `POST /api/share/${verb}?id=x`, code: 500, message: 'the share does not exist' }),
  ),
  { as: 'user', call: 'POST /api/share/create', body: {}, code: 500, message: 'not implement' },
];

export const ENVELOPE_CASES: readonly EnvelopeCase[] = [
  ...fileCases,
  ...accountCases,
  ...adminCases,
  ...taskCases('/api/task'),
  { as: 'guest', call: 'GET /api/task/events', code: 403, message: 'You are a guest' },
  ...taskCases('/api/admin/task'),
];
