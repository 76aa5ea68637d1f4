import { type Api, api, at, httpRequest, login, waitFor } from '@wharf/harness';

/** Whom the tour asks. */
export interface TourOf {
  /** The gateway whose calls are recorded. */
  readonly base: string;
  /** Another gateway, for what is asked again and again until it is so. */
  readonly aside: string;
  readonly adminPassword: string;
  /** Is told of requests for bytes, which gateways hand on to fs as they are. */
  noteBytes(request: BytesRequest, answer: unknown): void;
  /** Where `empty.bin` is fetched from. */
  readonly sourceUrl: string;
}

/** A request whose body is bytes. */
export interface BytesRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGAVaQXGGtXVtVhRYWh0oRXrn2TbxSLmBtVuxBLMOs1e ann';
/** Steps of 4 MiB are the smallest parts. */
const PART_BYTES = 4 * 1024 * 1024;

/** One of everything that clients ask for: each call that one service makes of another is made at least once. Begins with an installation that nobody has used. */
export async function goOnTour(tour: TourOf): Promise<void> {
  const admin = await login(tour.base, 'admin', tour.adminPassword);
  const aside = api(tour.aside, admin.token);
  const get = async (path: string, caller: Api = admin) => (await caller.get(path)).data;
  await get('/api/me/sessions');
  await visitState(admin);
  await visitFiles(tour, admin, aside);
  await visitUploads(tour, admin);
  await visitPeople(tour, admin);
  await visitStorages(admin);
  await visitRules(admin);
  await visitSearch(admin, aside);
  await visitTasks(tour, admin, aside);
  await visitSettings(admin);
  await get('/api/admin/audit/list?page=1&per_page=5');
  await get('/api/auth/logout');
}

/** Answers whatever comes: refusals are expectations too. */
async function ask(caller: Api, calls: readonly (readonly [path: string, body?: unknown])[]): Promise<void> {
  for (const [path, body] of calls) await caller.post(path, body);
}

async function visitState(admin: Api): Promise<void> {
  for (const path of [
    '/api/admin/state',
    '/api/public/offline_download_tools',
    '/api/admin/storage/health',
    '/api/admin/driver/names',
    '/api/me',
  ])
    await admin.get(path);
}

async function visitFiles(tour: TourOf, admin: Api, aside: Api): Promise<void> {
  const put = (path: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
    sendBytes(tour, admin, { method: 'PUT', path: '/api/fs/put', headers: { 'file-path': path, ...headers }, body });
  await ask(admin, [
    ['/api/fs/mkdir', { path: '/local/tour/sub' }],
    ['/api/fs/mkdir', { path: '/local/tour/../x' }],
  ]);
  await put('/local/tour/one.txt', 'one');
  await put('/local/tour/two.txt', 'two');
  await put('/local/tour/as-task.txt', 'as a task', { 'as-task': 'true' });
  await waitFor('the upload', async () => (await aside.post('/api/fs/get', { path: '/local/tour/as-task.txt' })).code === 200);
  await ask(admin, [
    ['/api/fs/list', { path: '/' }],
    ['/api/fs/list', { path: '/local/tour', page: 1, per_page: 2 }],
    ['/api/fs/list', { path: '/local/missing' }],
    ['/api/fs/list', { path: '/nowhere' }],
    ['/api/fs/list', { path: '/local/tour/one.txt' }],
    ['/api/fs/get', { path: '/local/tour/one.txt' }],
    ['/api/fs/get', { path: '/local/tour' }],
    ['/api/fs/get', { path: '/local/tour/missing' }],
    ['/api/fs/dirs', { path: '/local/tour' }],
    ['/api/fs/link', { path: '/local/tour/one.txt' }],
    ['/api/fs/other', { path: '/local/tour/one.txt', method: 'dance' }],
    ['/api/fs/rename', { path: '/local/tour/one.txt', name: 'two.txt' }],
    ['/api/fs/rename', { path: '/local/tour/one.txt', name: 'renamed.txt' }],
    ['/api/fs/batch_rename', { src_dir: '/local/tour', rename_objects: [{ src_name: 'renamed.txt', new_name: 'batch.txt' }] }],
    ['/api/fs/regex_rename', { src_dir: '/local/tour', src_name_regex: '^batch', new_name_regex: 'regex' }],
    ['/api/fs/copy', { src_dir: '/local/tour', dst_dir: '/local/tour/sub', names: ['two.txt'] }],
    ['/api/fs/copy', { src_dir: '/local/tour', dst_dir: '/local/tour/sub', names: ['two.txt'] }],
    ['/api/fs/move', { src_dir: '/local/tour', dst_dir: '/local/tour/sub/deep', names: ['regex.txt'] }],
    ['/api/fs/recursive_move', { src_dir: '/local/tour/sub', dst_dir: '/local/tour/flat' }],
    ['/api/fs/remove_empty_directory', { src_dir: '/local/tour/sub' }],
    ['/api/fs/remove', { dir: '/local/tour', names: ['flat'] }],
  ]);
}

/** Answers the `data` of the envelope. */
async function sendBytes(tour: TourOf, caller: Api, request: BytesRequest): Promise<unknown> {
  const whole = { ...request, headers: { ...request.headers, authorization: caller.token ?? '' } };
  const answer: unknown = (
    await httpRequest(tour.base, { ...whole, headers: { ...whole.headers, 'content-length': request.body.length } })
  ).json();
  tour.noteBytes(whole, answer);
  return at(answer, 'data');
}

async function visitUploads(tour: TourOf, admin: Api): Promise<void> {
  const send = (method: string, verb: string, headers: Readonly<Record<string, string>>, body = '') =>
    sendBytes(tour, admin, { method, path: `/api/fs/multipart/${verb}`, headers, body });
  const begin = async (name: string) => {
    const sizes = { 'x-file-size': '1000', 'x-chunk-size': String(PART_BYTES) };
    return String(at(await send('POST', 'init', { 'file-path': `/local/tour/${name}`, ...sizes }), 'upload_id'));
  };
  const [whole, ended] = [await begin('parts.bin'), await begin('ended.bin')];
  await send('PUT', 'chunk', { 'x-upload-id': whole, 'x-chunk-index': '0' }, 'x'.repeat(1_000));
  await send('POST', 'complete', { 'x-upload-id': whole });
  for (const path of ['/api/fs/multipart/list', '/api/admin/upload/list']) await admin.get(path);
  await ask(admin, [
    ['/api/admin/upload/abort', { upload_id: ended }],
    ['/api/admin/upload/abort', { upload_id: 'unknown' }],
  ]);
}

async function visitPeople({ base, adminPassword }: TourOf, admin: Api): Promise<void> {
  const fields = {
    username: 'ann',
    password: 'a-password-of-ann',
    base_path: '/local',
    role: 0,
    permission: 8,
    sso_id: '',
    disabled: false,
  };
  await ask(admin, [
    ['/api/admin/user/create', fields],
    ['/api/admin/user/create', fields],
  ]);
  await ask(admin, [
    ['/api/auth/login', { username: 'admin', password: 'wrong' }],
    ['/api/auth/login', { username: 'nobody', password: 'wrong' }],
  ]);
  await ask(admin, [['/api/auth/login/hash', { username: 'admin', password: adminPassword.replaceAll(/./g, '0') }]]);
  const ann = await login(base, 'ann', fields.password);
  await admin.get('/api/admin/user/list?page=1&per_page=10');
  for (const id of [3, 999]) await admin.get(`/api/admin/user/get?id=${id}`);
  for (const path of ['/api/me', '/api/me/sessions', '/api/me/app_password/list']) await ann.get(path);
  await ask(ann, [
    ['/api/me/sshkey/add', { title: 'of ann', key: KEY }],
    ['/api/me/sshkey/add', { title: 'none', key: 'no key' }],
    ['/api/me/app_password/create', { name: 'phone', protocols: ['webdav'], path: '/' }],
    ['/api/me/app_password/create', { name: 'phone', protocols: ['http'] }],
    ['/api/auth/2fa/generate', {}],
    ['/api/auth/2fa/verify', { code: '000000', secret: 'AAAA' }],
    ['/api/auth/2fa/recovery_codes', { code: '000000' }],
    ['/api/fs/list', { path: '/tour' }],
    ['/api/fs/remove', { dir: '/tour', names: ['two.txt'] }],
  ]);
  for (const path of ['/api/me/app_password/list', '/api/me/sshkey/list']) await ann.get(path);
  const own = at((await ann.get('/api/me/app_password/list')).data, 'content', 0, 'id');
  const session = at((await ann.get('/api/me/sessions')).data, 'content', 0, 'id');
  await admin.get('/api/admin/user/sshkey/list?uid=3');
  const key = at((await ann.get('/api/me/sshkey/list')).data, 'content', 0, 'id');
  await ask(ann, [
    [`/api/me/app_password/delete?id=${own}`],
    [`/api/me/sshkey/delete?id=${key}`],
    [`/api/me/sshkey/delete?id=${key}`],
    ['/api/me/update', { username: 'ann', password: 'another-password', sso_id: '' }],
    ['/api/me/sessions/revoke', { id: session }],
  ]);
  await ask(admin, [
    ['/api/admin/user/sshkey/delete?uid=3&id=999'],
    ['/api/admin/user/cancel_2fa?id=3'],
    ['/api/admin/user/update', { ...fields, id: 3, permission: 16 }],
    ['/api/admin/user/del_cache?username=ann'],
    ['/api/admin/user/delete?id=3'],
    ['/api/admin/user/delete?id=1'],
  ]);
}

async function visitStorages(admin: Api): Promise<void> {
  const storage = {
    mount_path: '/other',
    driver: 'Virtual',
    addition: '{"root_folder_path":"/","num_file":3,"num_folder":1,"max_file_size":1000,"min_file_size":10}',
  };
  await ask(admin, [
    ['/api/admin/driver/options', { driver: 'Virtual', addition: storage.addition }],
    ['/api/admin/driver/options', { driver: 'Nothing' }],
    ['/api/admin/storage/test', storage],
    ['/api/admin/storage/test', { ...storage, driver: 'Nothing' }],
    ['/api/admin/storage/create', storage],
    ['/api/admin/storage/create', storage],
    ['/api/admin/storage/create', { ...storage, mount_path: '/none', driver: 'Nothing' }],
    ['/api/fs/list', { path: '/other' }],
  ]);
  for (const path of ['/api/admin/storage/list?page=1&per_page=10', '/api/admin/storage/get?id=2', '/api/admin/storage/get?id=999'])
    await admin.get(path);
  await ask(admin, [
    ['/api/admin/storage/update', { ...storage, id: 2, remark: 'changed' }],
    ['/api/admin/storage/disable?id=2'],
    ['/api/admin/storage/enable?id=2'],
    ['/api/admin/storage/load_all'],
    ['/api/admin/storage/delete?id=2'],
  ]);
}

async function visitRules(admin: Api): Promise<void> {
  const rule = {
    path: '/local/tour',
    password: 'secret',
    p_sub: true,
    write: false,
    w_sub: false,
    hide: '',
    h_sub: false,
    readme: 'read me',
    r_sub: true,
    header: '',
    header_sub: false,
  };
  await ask(admin, [
    ['/api/admin/meta/create', rule],
    ['/api/admin/meta/create', rule],
    ['/api/fs/list', { path: '/local/tour' }],
  ]);
  for (const path of ['/api/admin/meta/list?page=1&per_page=10', '/api/admin/meta/get?id=1', '/api/admin/meta/get?id=999'])
    await admin.get(path);
  await ask(admin, [
    ['/api/admin/meta/explain', { path: '/local/tour' }],
    ['/api/admin/meta/update', { ...rule, id: 1, readme: 'changed' }],
    ['/api/admin/meta/delete?id=1'],
  ]);
}

async function visitSearch(admin: Api, aside: Api): Promise<void> {
  const search = { parent: '/', keywords: 'two', scope: 0, page: 1, per_page: 10, password: '' };
  const idle = () => waitFor('the index', async () => at((await aside.get('/api/admin/index/progress')).data, 'is_done') === true);
  await ask(admin, [
    ['/api/fs/search', search],
    ['/api/admin/setting/save', [{ key: 'search_index', value: 'database' }]],
    ['/api/admin/index/build', {}],
  ]);
  await idle();
  await ask(admin, [
    ['/api/fs/search', search],
    ['/api/admin/index/update', { paths: ['/local/tour'], max_depth: 5 }],
  ]);
  await idle();
  await admin.get('/api/admin/index/progress');
  await ask(admin, [['/api/admin/index/stop'], ['/api/admin/index/clear']]);
}

async function visitTasks({ sourceUrl }: TourOf, admin: Api, aside: Api): Promise<void> {
  const ended = async (kind: string, answer: unknown) => {
    const id = at(answer, 'tasks', 0, 'id');
    await waitFor(`task ${id}`, async () => Number(at(await aside.call(`/api/task/${kind}/info?tid=${id}`, {}), 'state')) === 2);
    return id;
  };
  const virtual = {
    mount_path: '/made-up',
    driver: 'Virtual',
    addition: '{"root_folder_path":"/","num_file":1,"num_folder":0,"max_file_size":100,"min_file_size":10}',
  };
  await ask(admin, [['/api/admin/storage/create', virtual]]);
  const first = String(at(await admin.call('/api/fs/list', { path: '/made-up' }), 'content', 0, 'name'));
  const copied = await ended(
    'copy',
    await admin.call('/api/fs/copy', { src_dir: '/made-up', dst_dir: '/local/tour/copied', names: [first] }),
  );
  const target = { path: '/local/tour/fetched', tool: 'SimpleHttp', delete_policy: 'delete_always' };
  const fetched = await ended(
    'offline_download',
    await admin.call('/api/fs/add_offline_download', { urls: [`${sourceUrl}/0/0/empty.bin`], ...target }),
  );
  await ask(admin, [
    ['/api/fs/add_offline_download', { urls: ['ftp://nowhere'], ...target }],
    ['/api/fs/add_offline_download', { urls: [`${sourceUrl}/0/0/empty.bin`], ...target, path: '/made-up' }],
  ]);
  for (const [kind, id] of [
    ['copy', copied],
    ['offline_download', fetched],
  ] as const) {
    for (const list of ['done', 'undone']) await admin.get(`/api/task/${kind}/${list}`);
    for (const verb of ['info', 'cancel', 'pause', 'resume', 'retry', 'delete'])
      for (const tid of verb === 'info' || verb === 'delete' ? [id, 'unknown'] : ['unknown'])
        await admin.post(`/api/task/${kind}/${verb}?tid=${tid}`);
    for (const verb of ['clear_done', 'clear_succeeded', 'retry_failed']) await admin.post(`/api/task/${kind}/${verb}`);
  }
}

async function visitSettings(admin: Api): Promise<void> {
  for (const path of ['/api/admin/setting/list', '/api/admin/setting/default', '/api/admin/setting/get?key=site_title'])
    await admin.get(path);
  await ask(admin, [
    ['/api/admin/setting/save', [{ key: 'site_title', value: 'tour' }]],
    ['/api/admin/setting/delete?key=site_title'],
    ['/api/admin/setting/set_aria2', { uri: 'http://127.0.0.1:1/jsonrpc', secret: '' }],
    ['/api/admin/setting/set_qbit', { url: 'http://127.0.0.1:1', seedtime: '0' }],
    ['/api/admin/setting/set_transmission', { uri: 'http://127.0.0.1:1', seedtime: '0' }],
    ['/api/admin/setting/reset_token', {}],
  ]);
  const document = await admin.call('/api/admin/config/export', { passphrase: 'a passphrase of the tour' });
  await ask(admin, [
    ['/api/admin/config/import', { document, passphrase: 'a passphrase of the tour' }],
    ['/api/admin/config/import', { document: '{}' }],
  ]);
}
