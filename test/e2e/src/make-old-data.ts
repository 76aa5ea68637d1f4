// Makes a fixture of what a version of Wharf leaves behind: `node test/e2e/src/make-old-data.ts <checkout> <folder for the archives>`.
// The README of `fixtures/bacfa88` says what is in it.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { type Api, api, at, login, runCommand, startProcess, waitFor } from '@wharf/harness';
import { put } from '../support/files.ts';
import { ADMIN_READS, listed, OLD, sourceContent } from '../support/old-data.ts';
import { dataOf, userFields } from '../support/people.ts';
import { holdUpload } from '../support/tasks.ts';
import { totpCode } from '../support/totp.ts';

const [checkout = '', archives = ''] = process.argv.slice(2).map((word) => resolve(word));
/** Everything lies in it, and storages name their folders relative to the working directory. */
const FOLDER = 'old-data';
const place = join(checkout, FOLDER);
const RUNNING = 1;

const source = createServer((request, response) => {
  const content = sourceContent((request.url ?? '').slice(1));
  const [, start = '0', end = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  const last = end === '' ? content.length - 1 : Number(end);
  response.writeHead(request.headers.range === undefined ? 200 : 206, {
    ETag: `"${content.length}"`,
    'Content-Length': last + 1 - Number(start),
    'Content-Range': `bytes ${start}-${last}/${content.length}`,
  });
  // A third of it, and then nothing more.
  response.write(content.subarray(Number(start), Math.min(last + 1, Math.max(Number(start) + 1, content.length / 3))));
});
await new Promise<void>((listening) => source.listen(OLD.source.port, OLD.source.host, listening));

await rm(place, { recursive: true, force: true });
await mkdir(join(place, 'files', 'many'), { recursive: true });
await mkdir(join(place, 'archive'));
for (let i = 0; i < 1500; i++) await writeFile(join(place, 'files', 'many', `file ${i}.txt`), `${i}`);

let wharf = await start();
const facts: Record<string, unknown> = {};
const admin = await login(wharf.ready, 'admin', OLD.adminPassword);
const [otto, rita] = await makeAccounts(admin);
await configure(admin, wharf.ready);
const people = { otto, rita };
await openTasks(admin, wharf.ready);
await keep('killed', () => wharf.kill());

wharf = await start();
await keep('stopped', () => wharf.stop());
source.closeAllConnections();
source.close();
await rm(place, { recursive: true });

function start() {
  return startProcess<string>({
    name: 'npm start',
    // What `npm start` runs; npm itself would be gone before Wharf has ended in order.
    command: process.execPath,
    args: ['tools/run.mjs', 'start'],
    cwd: checkout,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      WHARF_HTTP_PORT: '0',
      WHARF_DATA_DIR: join(FOLDER, 'data'),
      WHARF_FILES_DIR: join(FOLDER, 'files'),
      WHARF_ADMIN_PASSWORD: OLD.adminPassword,
      WHARF_EGRESS_ALLOW: OLD.source.host,
    },
    ready: { line: (line) => (line.includes('"msg":"listening"') ? String(at(JSON.parse(line), 'url')) : undefined) },
    readyWithinMs: 120_000,
  });
}

async function makeAccounts(admin: Api): Promise<[Api, Api]> {
  await admin.call('/api/admin/user/create', userFields({ ...OLD.otto, permission: 0xff }));
  await admin.call('/api/admin/user/create', userFields({ ...OLD.rita, base_path: '/local/rita', permission: 8 }));
  await admin.call('/api/admin/user/create', userFields({ username: 'dora', password: 'dora of bacfa88', disabled: true }));
  await admin.call('/api/admin/user/update', userFields({ id: 2, username: 'guest', role: 1, permission: 0, disabled: false }));
  const otto = await login(wharf.ready, OLD.otto.username, OLD.otto.password);
  const secret = String(at(await otto.call('/api/auth/2fa/generate'), 'secret'));
  await otto.call('/api/auth/2fa/verify', { code: totpCode(secret), secret });
  facts['otpSecret'] = secret;
  facts['recoveryCodes'] = at(await otto.call('/api/auth/2fa/recovery_codes', { code: totpCode(secret, 1) }), 'codes');
  facts['appPassword'] = await otto.call('/api/me/app_password/create', { name: 'phone', protocols: ['webdav'], path: '/local' });
  const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f fixture';
  await otto.call('/api/me/sshkey/add', { title: 'laptop', key });
  return [otto, await login(wharf.ready, OLD.rita.username, OLD.rita.password)];
}

async function configure(admin: Api, base: string): Promise<void> {
  const local = Object(await dataOf(admin, '/api/admin/storage/get?id=1'));
  const addition = (root: string) => JSON.stringify({ ...JSON.parse(local.addition), root_folder_path: `${FOLDER}/${root}` });
  await admin.call('/api/admin/storage/update', { ...local, addition: addition('files') });
  const archive = { ...local, id: 0, mount_path: '/archive', addition: addition('archive'), order: 2, remark: 'kept', enable_sign: true };
  await admin.call('/api/admin/storage/create', archive);
  const off = { ...archive, mount_path: '/off', addition: addition('off'), remark: 'off' };
  await admin.call(`/api/admin/storage/disable?id=${at(await admin.post('/api/admin/storage/create', off), 'data', 'id')}`);

  for (const name of ['rita/notes.txt', 'guarded/plan.txt', 'guarded/below/plan.txt', 'team/for otto.txt', 'team/.hidden.txt'])
    await put(admin, base, `/local/${name}`, name);
  await put(admin, base, '/archive/signed.txt', 'signed');
  const rule = { id: 0, password: '', p_sub: false, write: false, w_sub: false, hide: '', h_sub: false, readme: '', r_sub: false };
  const rest = { header: '', header_sub: false, read_users: [], read_users_sub: false, write_users: null, write_users_sub: false };
  await admin.call('/api/admin/meta/create', { ...rule, ...rest, path: '/local/guarded', password: OLD.rulePassword, p_sub: true });
  const team = { path: '/local/team', hide: '^\\.', h_sub: true, readme: '# the team', header: 'hello', read_users: [3] };
  await admin.call('/api/admin/meta/create', { ...rule, ...rest, ...team });

  const item = (key: string, value: string) => ({ key, value, help: '', type: 'string', options: '', group: 1, flag: 0 });
  await admin.call('/api/admin/setting/save', [
    item('site_title', 'Wharf of bacfa88'),
    item('search_index', 'database'),
    ...['copy', 'move', 'upload', 'offline_download'].map((kind) => item(`${kind}_task_threads_num`, '1')),
    item('aria2_uri', 'http://127.0.0.1:9/jsonrpc'),
    item('aria2_secret', 'secret of aria2'),
  ]);
  await admin.call('/api/admin/index/build', {});
  await waitFor('the index', async () => at(await dataOf(admin, '/api/admin/index/progress'), 'is_done') === true, { withinMs: 60_000 });
}

/** Of each kind one that runs, one that waits and one that is paused. */
async function openTasks(admin: Api, base: string): Promise<void> {
  const url = `http://${OLD.source.host}:${OLD.source.port}`;
  const queued = await admin.call('/api/fs/add_offline_download', {
    ...{
      urls: ['one', 'two', 'three'].map((name) => `${url}/${name}`),
      path: '/archive/in',
      tool: 'SimpleHttp',
      delete_policy: 'delete_always',
    },
  });
  const [first, , third] = [0, 1, 2].map((index) => at(queued, 'tasks', index, 'id'));
  await admin.call(`/api/task/offline_download/pause?tid=${third}`);
  await isUnderWay('offline_download', first, 20);

  await holdUpload(admin, base, '/local', 'waited since bacfa88\n'.repeat(5000));

  const copy = (src: string, name: string, dst_dir: string) =>
    admin.call('/api/fs/copy', { src_dir: src, dst_dir, names: [name], overwrite: false });
  const many = at(await copy('/local', 'many', '/archive'), 'tasks', 0, 'id');
  await copy('/local', 'team', '/archive');
  const held = at(await copy('/local', 'rita', '/archive'), 'tasks', 0, 'id');
  await admin.call(`/api/task/copy/pause?tid=${held}`);
  await isUnderWay('copy', many, 10);
}

async function isUnderWay(list: string, id: unknown, percent: number): Promise<void> {
  const isFar = async () => {
    const task = await admin.call(`/api/task/${list}/info?tid=${id}`);
    return at(task, 'state') === RUNNING && Number(at(task, 'progress')) > percent;
  };
  await waitFor(`the task ${id} to run`, isFar, { withinMs: 30_000, everyMs: 20 });
}

/** Ends it and packs what it left behind, with what it answered before. */
async function keep(name: string, end: () => Promise<unknown>): Promise<void> {
  const caller = await login(wharf.ready, 'admin', OLD.adminPassword);
  const answers: Record<string, unknown> = {};
  for (const path of ADMIN_READS) answers[path] = await dataOf(caller, path);
  for (const list of ['offline_download', 'copy', 'upload']) answers[`undone ${list}`] = await dataOf(caller, `/api/task/${list}/undone`);
  const guest = api(wharf.ready);
  for (const [who, one] of Object.entries({ admin: caller, ...(name === 'killed' ? people : {}), guest }))
    for (const [path, password] of [
      ['/'],
      ['/local'],
      ['/local/guarded'],
      ['/local/guarded', OLD.rulePassword],
      ['/local/team'],
      ['/archive'],
    ])
      answers[`${who} lists ${path} ${password ?? ''}`] = await listed(one, path ?? '', password ?? '');
  const found = { parent: '/', keywords: 'plan', scope: 0, page: 1, per_page: 100, password: '' };
  answers['search'] = await caller.call('/api/fs/search', found);
  answers['link'] = new URL(String(at(await caller.call('/api/fs/get', { path: '/archive/signed.txt' }), 'raw_url'))).search;
  answers['export'] = await caller.call('/api/admin/config/export', { passphrase: OLD.passphrase });
  answers['token'] = at(await dataOf(caller, '/api/admin/setting/get?key=token'), 'value');
  await end();
  const story = join(place, 'facts.json');
  await writeFile(story, JSON.stringify({ ...facts, answers }, undefined, 1));
  // Times to the nanosecond: by them a copy that goes on knows what it has copied. Sockets are left out.
  await runCommand('tar', ['--format=posix', '-cSzf', join(archives, `${name}.tar.gz`), '-C', checkout, FOLDER]);
  await rm(story);
}
