import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { httpRequest, makeTempDir, type TempDir, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { as, type FsProcess, headersAs, startFsProcess } from './fs-process.ts';
import { type Installation, openInstallation, USER } from './installation.ts';

const MODIFIED_MS = 1_600_000_000_123;

let installation: Installation;
let dir: TempDir;
let root: string;
let dataDir: string;

beforeAll(async () => {
  installation = await openInstallation();
  dir = await makeTempDir('task-uploads');
  root = join(dir.path, 'root');
  dataDir = join(dir.path, 'data');
  await mkdir(root);
  await installation.login({ id: 1, permission: 0xffff });
  await installation.login({ id: 2, permission: 0xffff, base_path: '/to/limited', quota_bytes: 1_000 });
  await installation.writeStorage({ _id: 1, mount_path: '/to', addition: JSON.stringify({ root_folder_path: root }) });
});
afterAll(async () => {
  await installation?.close();
  await dir?.remove();
});

function put(process: FsProcess, path: string, body: Uint8Array, headers: Record<string, string> = {}, route = '/api/fs/put') {
  return httpRequest(process.url, {
    method: 'PUT',
    path: route,
    headers: {
      ...headersAs(),
      'file-path': encodeURIComponent(path),
      'content-type': 'application/octet-stream',
      'content-length': body.byteLength,
      'as-task': 'true',
      'last-modified': String(MODIFIED_MS),
      ...headers,
    },
    body,
  });
}

/** Bodies that wait, without the name of the area. */
const waiting = async () => (await readdir(join(dataDir, 'uploads'))).filter((name) => name !== 'id');

it('an upload as a task is safe when it is answered: it is stored after the process was killed, and its body put away', async () => {
  const body = randomBytes(48 * 1024 * 1024);
  const first = await startFsProcess(installation, dataDir);
  const answer = await put(first, '/to/d/file.bin', body);
  await first.kill();
  const { data } = answer.json() as { data: { task: { id: string } } };
  expect(data.task).toMatchObject({ name: 'upload file.bin to [/to](/d)', state: 0, status: 'uploading', progress: 0, error: '' });
  // One without the area leaves it alone, one with it goes on.
  const other = await startFsProcess(installation);
  const second = await startFsProcess(installation, dataDir);
  await waitFor('the upload', async () => (await second.task('upload', data.task.id)).state === 2);
  expect((await readFile(join(root, 'd', 'file.bin'))).equals(body)).toBe(true);
  expect((await stat(join(root, 'd', 'file.bin'))).mtimeMs).toBe(MODIFIED_MS);
  expect(await second.task('upload', data.task.id)).toMatchObject({ progress: 100, error: '', total_bytes: body.byteLength });
  expect(await waiting()).toEqual([]);
  await Promise.all([other.stop(), second.stop()]);
});

it('an upload that cannot be stored says why, keeps its body, and can be retried', async () => {
  const process = await startFsProcess(installation, dataDir);
  await installation.writeUser({ id: 1, disabled: true });
  const answer = await put(process, '/to/late', Buffer.from('late'));
  const { id } = (answer.json() as { data: { task: { id: string } } }).data.task;
  await waitFor('the failure', async () => (await process.task('upload', id)).state === 7);
  expect((await process.task('upload', id)).error).toBe('the user whose task this is has been disabled');
  expect(await waiting()).toHaveLength(1);
  await installation.writeUser({ id: 1, disabled: false });
  await process.tasks.controlTasks({ list: 'upload', action: 'retry', ids: [id] }, as());
  await waitFor('the file', async () => (await process.task('upload', id)).state === 2);
  expect(await readFile(join(root, 'late'), 'utf8')).toBe('late');
  expect(await waiting()).toEqual([]);
  await process.stop();
});

it('C8: an upload as a task takes the password of what it replaces with its body', async () => {
  await installation.login({ id: 5, permission: USER.permission });
  const user = { ...USER, id: 5 };
  await writeFile(join(root, 'guarded'), 'old');
  await installation.writeRule({ path: '/to/guarded', password: 'pw' });
  const process = await startFsProcess(installation, dataDir);
  const answer = (headers: Record<string, string>) => put(process, '/to/guarded', Buffer.from('new'), { ...headersAs(user), ...headers });
  expect((await answer({})).json()).toMatchObject({ code: 403 });
  const { id } = ((await answer({ password: 'pw' })).json() as { data: { task: { id: string } } }).data.task;
  await waitFor('the upload', async () => (await process.task('upload', id)).state === 2);
  expect(await readFile(join(root, 'guarded'), 'utf8')).toBe('new');
  await process.stop();
});

it('what does not hold what was promised is refused at once, and leaves nothing', async () => {
  const process = await startFsProcess(installation, dataDir);
  const answer = await put(process, '/to/b', Buffer.from('b'), { 'x-file-md5': '0'.repeat(32) });
  expect(answer.json()).toMatchObject({ code: 500 });
  expect(await waiting()).toEqual([]);
  expect(await Array.fromAsync(process.tasks.listTasks({ list: 'upload', done: false, page: 1, per_page: 0 }, as()))).toEqual([]);
  await process.stop();
});

it('without a folder for what waits the upload is stored while its client does', async () => {
  const process = await startFsProcess(installation);
  const answer = await put(process, '/to/now', Buffer.from('now'));
  expect(answer.json()).toMatchObject({ code: 200, data: { task: { state: 2, progress: 100, status: 'uploading' } } });
  expect(await readFile(join(root, 'now'), 'utf8')).toBe('now');
  await process.stop();
});

it('C17: what has no room within the quota of its user is refused, and never waits', async () => {
  const process = await startFsProcess(installation, dataDir);
  const limited = headersAs({ ...USER, id: 2, permission: 0xffff, basePath: '/to/limited' });
  const full = { code: 500, message: expect.stringContaining('quota exceeded: your files may have 1000 bytes in all') };
  const big = randomBytes(3 * 1024 * 1024);
  for (const name of ['a', 'b', 'c']) expect((await put(process, `/${name}`, big, limited)).json()).toMatchObject(full);
  expect(await waiting()).toEqual([]);
  const boundary = 'limit';
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="d"\r\n\r\n`;
  const form = Buffer.concat([Buffer.from(head), big, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  const asForm = { ...limited, 'content-type': `multipart/form-data; boundary=${boundary}` };
  expect((await put(process, '/d', form, asForm, '/api/fs/form')).json()).toMatchObject(full);
  expect(await waiting()).toEqual([]);
  // What fits is claimed once, not again when it is stored.
  const { id } = ((await put(process, '/e', big.subarray(0, 900), limited)).json() as { data: { task: { id: string } } }).data.task;
  await waitFor('the upload', async () => (await process.task('upload', id)).state === 2);
  expect((await put(process, '/f', big.subarray(0, 101), limited)).json()).toMatchObject(full);
  await process.stop();
});
