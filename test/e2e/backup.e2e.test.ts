import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, at, login, makeTempDir, runCommand, startServices, startStandalone, type Wharf, waitFor } from '@wharf/harness';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fetchFile, put } from './support/files.ts';
import { beginParts, completeParts, missingParts, type PartUpload, sendPart } from './support/part-uploads.ts';
import { runProgram, STANDALONE } from './support/program.ts';
import { startSourceServer } from './support/source-server.ts';
import { holdUpload } from './support/tasks.ts';

const CONTENT = randomBytes(3 * 1024 * 1024);

async function folders() {
  const dir = await makeTempDir('backup');
  onTestFinished(() => dir.remove());
  const [dataDir, filesDir, restored, file] = ['data', 'files', 'restored', 'wharf.tar'].map((name) => join(dir.path, name)) as [
    string,
    string,
    string,
    string,
  ];
  return { dir: dir.path, dataDir, filesDir, restored, file };
}

const backUp = (dataDir: string, filesDir: string, file: string) =>
  runProgram(STANDALONE, { WHARF_DATA_DIR: dataDir, WHARF_FILES_DIR: filesDir }, ['--backup', file]);

const unpack = async (file: string, folder: string) => {
  await mkdir(folder);
  expect(await runCommand('tar', ['-xf', file, '-C', folder])).toMatchObject({ code: 0, stderr: '' });
};

/** One of each thing that lies in different places of a data folder, and what a caller sees of them. */
async function fill(wharf: Wharf): Promise<{ admin: Api; upload: PartUpload }> {
  const admin = await login(wharf.base, 'admin', wharf.adminPassword);
  await admin.call('/api/admin/user/create', { username: 'ann', password: 'a-password-of-ann', permission: 0xff, base_path: '/local' });
  await admin.call('/api/admin/setting/save', [{ key: 'search_index', value: 'database' }]);
  const addition = JSON.stringify({
    ...{ root_folder_path: '/', bucket: 'b', endpoint: 'http://127.0.0.1:9', access_key_id: 'k', secret_access_key: 'sealed-7d1c' },
  });
  await admin.post('/api/admin/storage/create', { mount_path: '/away', driver: 'S3', addition });
  await admin.call('/api/admin/meta/create', { path: '/local/closed', password: 'of-the-rule', p_sub: true });
  await put(admin, wharf.base, '/local/closed/one.txt', Buffer.from('one'));
  await admin.call('/api/admin/index/build', {});
  await waitFor('the index', async () => at((await admin.get('/api/admin/index/progress')).data, 'is_done') === true);
  const upload = await beginParts(admin, wharf.base, '/local/parts.bin', CONTENT.length, 1024 * 1024);
  await sendPart(admin, wharf.base, upload, CONTENT, 1);
  return { admin, upload };
}

const usersOf = async (admin: Api): Promise<unknown[]> => {
  const content = at((await admin.get('/api/admin/user/list?per_page=1000')).data, 'content');
  return Array.isArray(content) ? content : [];
};

/** What is to be the same after a restore. */
async function told(caller: Api): Promise<unknown> {
  const get = async (path: string) => (await caller.get(path)).data;
  return {
    me: await get('/api/me'),
    users: (await usersOf(caller)).filter((user) => !String(at(user, 'username')).startsWith('user-')),
    storages: await get('/api/admin/storage/list'),
    rules: await get('/api/admin/meta/list'),
    settings: await get('/api/admin/setting/list'),
    root: await caller.call('/api/fs/list', { path: '/' }),
    closed: await caller.call('/api/fs/list', { path: '/local/closed' }),
    found: await caller.call('/api/fs/search', { parent: '/', keywords: 'one', scope: 0, page: 1, per_page: 10 }),
  };
}

describe.each([
  ['standalone', startStandalone],
  ['five processes', startServices],
])('a backup of %s that runs', (_, start) => {
  test('is for its owner alone, and restored into an empty folder it answers the same to the same logins', {
    timeout: 300_000,
  }, async () => {
    const { dir, dataDir, filesDir, restored, file } = await folders();
    const wharf = await start({ dataDir, filesDir, env: { WHARF_SECRET: undefined } });
    const { admin, upload } = await fill(wharf);
    const before = await told(admin);

    let isOver = false;
    const users: string[] = [];
    const load = (async () => {
      for (let n = 0; !isOver; n += 1) {
        await admin.call('/api/admin/user/create', { username: `user-${n}`, password: 'a-password', base_path: '/' });
        users.push(`user-${n}`);
      }
    })();
    await waitFor('load', async () => users.length > 3);
    const acknowledged = [...users];
    const { code, stdout, stderr } = await backUp(dataDir, filesDir, file);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    isOver = true;
    await load;
    expect(stdout).toContain(`${file} has the store, the secret, the search index, uploads that wait: 0.`);
    expect(stdout).toContain(
      `It does not have the files of storages (those of /local lie in ${filesDir}), thumbnails, unfinished downloads.`,
    );
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readdir(dir)).toSorted()).toEqual(['data', 'files', 'wharf.tar']);
    expect((await readdir(dataDir, { recursive: true })).filter((name) => name.includes('backup'))).toEqual(['backup.lock']);
    await wharf.stop();

    await unpack(file, restored);
    const again = await startStandalone({
      dataDir: restored,
      filesDir,
      env: { WHARF_SECRET: undefined, WHARF_HTTP_PORT: new URL(wharf.base).port },
    });
    try {
      const kept = await usersOf(admin);
      expect(acknowledged.filter((name) => !kept.some((user) => at(user, 'username') === name))).toEqual([]);
      expect(await told(admin)).toEqual(before);
      await login(again.base, 'ann', 'a-password-of-ann');
      // Its secrets can be unsealed.
      await admin.call('/api/admin/config/export', { passphrase: 'long and mine' });
      expect(await missingParts(admin, again.base, upload)).toEqual([0, 2]);
      for (const part of [0, 2]) await sendPart(admin, again.base, upload, CONTENT, part);
      expect(await completeParts(admin, again.base, upload)).toMatchObject({ code: 200 });
    } finally {
      await again.stop();
    }
  });
});

const RUNNING = 1;

const heldTask = async (admin: Api) => at((await admin.get('/api/task/upload/undone')).data, 0) as { id: string; paused: boolean };

describe('a backup', () => {
  test('of a Wharf that was killed has all that it acknowledged, uploads that wait among it, and that Wharf starts again', async () => {
    const { dataDir, filesDir, restored, file } = await folders();
    const env = { WHARF_SECRET: undefined, WHARF_EGRESS_ALLOW: '127.0.0.1' };
    const wharf = await startStandalone({ dataDir, filesDir, env });
    const { admin } = await fill(wharf);
    const content = 'waits\n'.repeat(20_000);
    const path = await holdUpload(admin, wharf.base, '/local', content);
    const { id } = await heldTask(admin);
    const source = await startSourceServer();
    onTestFinished(() => source.close());
    source.files.set('/slow.bin', CONTENT);
    source.bytesPerSecond = 1;
    const asked = { urls: [`${source.url}/slow.bin`], path: '/local', tool: 'SimpleHttp', delete_policy: 'delete_always' };
    const download = at(await admin.call('/api/fs/add_offline_download', asked), 'tasks', 0, 'id');
    const downloading = () => admin.call(`/api/task/offline_download/info?tid=${download}`);
    await waitFor('the download', async () => at(await downloading(), 'state') === RUNNING);
    await wharf.kill();
    const served = `${restored} by services`;
    for (const folder of [restored, served]) {
      const made = await backUp(dataDir, filesDir, file);
      expect(made).toMatchObject({ code: 0, stderr: '' });
      expect(made.stdout).toContain(', uploads that wait: 1.');
      await unpack(file, folder);
      // The second one is of a folder as the first versions left it.
      await rm(join(dataDir, 'store.json'), { force: true });
    }
    for (const [start, folder, isPaused] of [
      [startStandalone, dataDir, false],
      [startStandalone, restored, true],
      [startStandalone, restored, false],
      [startServices, served, true],
    ] as const) {
      const again = await start({ dataDir: folder, filesDir, env: { ...env, WHARF_HTTP_PORT: new URL(wharf.base).port } });
      // What has the name of its file may be newer than the backup.
      expect(await downloading()).toMatchObject({ paused: isPaused });
      if (folder === restored && isPaused) {
        expect(await admin.call(`/api/task/upload/info?tid=${id}`)).toMatchObject({ paused: true });
        await admin.call(`/api/task/offline_download/resume?tid=${download}`);
        await admin.call(`/api/task/upload/resume?tid=${id}`);
        await waitFor('the upload', async () => (await admin.post('/api/fs/get', { path })).code === 200);
        expect((await fetchFile(admin, again.base, path)).text()).toBe(content);
      }
      await again.kill();
    }
  });

  test('restored beside its original, which runs, takes nothing of an upload that goes on there', async () => {
    const { dataDir, filesDir, restored, file } = await folders();
    const env = { WHARF_SECRET: undefined };
    const wharf = await startStandalone({ dataDir, filesDir, env });
    onTestFinished(async () => void (await wharf.stop()));
    const admin = await login(wharf.base, 'admin', wharf.adminPassword);
    const ann = { username: 'ann', password: 'a-password-of-ann', permission: 0xff, base_path: '/' };
    await admin.call('/api/admin/user/create', ann);
    const id = (await usersOf(admin)).map((user) => (at(user, 'username') === 'ann' ? at(user, 'id') : undefined)).find(Boolean);
    const asAnn = () => login(wharf.base, ann.username, ann.password);
    const first = await asAnn();
    const upload = await beginParts(first, wharf.base, '/local/shared.bin', CONTENT.length, 1024 * 1024);
    await sendPart(first, wharf.base, upload, CONTENT, 0);
    // A sweep ends uploads of whoever is disabled: here it has none before she is back, in the copy it has one at once.
    await admin.call('/api/admin/user/update', { ...ann, id, disabled: true });
    expect(await backUp(dataDir, filesDir, file)).toMatchObject({ code: 0, stderr: '' });
    await unpack(file, restored);
    await admin.call('/api/admin/user/update', { ...ann, id, disabled: false });
    const again = await asAnn();
    expect(await sendPart(again, wharf.base, upload, CONTENT, 1)).toMatchObject({ code: 200 });
    const unfinished = async (caller: Api) => at((await caller.get('/api/admin/upload/list')).data, 'total');
    expect(await unfinished(admin)).toBe(1);

    const copy = await startStandalone({ dataDir: restored, filesDir, env });
    try {
      const its = await login(copy.base, 'admin', wharf.adminPassword);
      await waitFor('the sweep of the copy', async () => (await unfinished(its)) === 0);
      expect(await sendPart(again, wharf.base, upload, CONTENT, 2)).toMatchObject({ code: 200 });
      expect(await completeParts(again, wharf.base, upload)).toMatchObject({ code: 200 });
      expect(CONTENT.equals((await fetchFile(again, wharf.base, '/local/shared.bin')).body)).toBe(true);
    } finally {
      await copy.stop();
    }
  });

  test('that cannot be made says why, and leaves nothing', async () => {
    const { dir, dataDir, filesDir, file } = await folders();
    const none = await backUp(dataDir, filesDir, file);
    expect(none).toMatchObject({ code: 1, stdout: '' });
    expect(none.stderr).toContain(`there is no Wharf in ${dataDir}; WHARF_DATA_DIR names the folder of its data`);
    const elsewhere = await runProgram(STANDALONE, { WHARF_DATA_DIR: dataDir, MONGO_URL: 'mongodb://127.0.0.1:9' }, ['--backup', file]);
    expect(elsewhere).toMatchObject({ code: 2, stdout: '' });
    expect(elsewhere.stderr).toContain('the store is the one of MONGO_URL; back it up with its own tools');
    expect(await readdir(dir)).toEqual([]);
  });
});
