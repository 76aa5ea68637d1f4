import { randomBytes } from 'node:crypto';
import { chmod, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { at, download, freePort, httpRequest, login, makeTempDir, runCommand, type TempDir, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectPage } from '../support/page.ts';

const DOCKER = process.env['WHARF_TEST_CONTAINERS'] ?? 'docker';
const NAME = 'wharf-test-standalone';
const LABEL = ['--label', 'wharf.test=containers'];
const PHOTO = randomBytes(10_000);

let dir: TempDir;
let base = '';

async function docker(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(DOCKER, words, { withinMs: 120_000 });
  if (code !== 0) throw new Error(`docker ${words.join(' ')}: ${stderr}`);
  return stdout;
}

/** As the README says, on this volume and port. */
async function start(volume: string, port: number): Promise<void> {
  await docker('volume', 'create', ...LABEL, volume);
  const words = [
    '--read-only',
    '--cap-drop',
    'ALL',
    '-p',
    `127.0.0.1:${port}:5244`,
    '-v',
    `${volume}:/data`,
    '-v',
    `${dir.path}:/photos:ro`,
  ];
  await docker('run', '-d', '--name', NAME, ...LABEL, ...words, 'wharf:test', '--mount', '/photos=/photos');
  const isHealthy = async () => (await docker('inspect', '--format', '{{.State.Health.Status}}', NAME)).trim() === 'healthy';
  await waitFor('wharf to be healthy', isHealthy, { withinMs: 90_000, everyMs: 200 });
}

beforeAll(async () => {
  dir = await makeTempDir('photos');
  await writeFile(join(dir.path, 'beach.jpg'), PHOTO);
  await chmod(dir.path, 0o755);
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  await start(`${NAME}-1`, port);
});
afterAll(async () => {
  await docker('rm', '-f', NAME).catch(() => undefined);
  for (const volume of [1, 2]) await docker('volume', 'rm', '-f', `${NAME}-${volume}`);
  await dir?.remove();
});

test('the image of all in one process has the page, the folder that was mounted, and a backup that restores into an empty volume', {
  timeout: 240_000,
}, async () => {
  await expectPage(base);
  const [, password = ''] = /the password (\S+) /.exec(await docker('logs', NAME)) ?? [];
  const admin = await login(base, 'admin', password);
  const photo = new URL(String(at(await admin.call('/api/fs/get', { path: '/photos/beach.jpg' }), 'raw_url')));
  expect((await download(base, { path: photo.pathname + photo.search })).sizeBytes).toBe(PHOTO.length);
  const headers = { Authorization: String(admin.token), 'File-Path': '/local/kept.txt', 'Content-Length': 4 };
  expect(JSON.parse((await httpRequest(base, { method: 'PUT', path: '/api/fs/put', headers, body: 'kept' })).text()).code).toBe(200);
  await admin.call('/api/admin/user/create', { username: 'ann', password: 'a-password-of-ann', base_path: '/' });

  const told = await docker('exec', NAME, 'node', 'main.ts', '--backup', '/data/wharf.tar');
  expect(told).toContain('/data/wharf.tar has the store, the secret');
  const file = join(dir.path, 'wharf.tar');
  await docker('cp', `${NAME}:/data/wharf.tar`, file);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await docker('rm', '-f', NAME);
  const { code, stderr } = await runCommand('sh', [
    ...['-c', '"$1" run --rm -i -v "$2:/data" --entrypoint tar wharf:test -x -C /data <"$3"', 'sh', DOCKER, `${NAME}-2`, file],
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  await start(`${NAME}-2`, Number(new URL(base).port));
  // The login of before.
  expect(at((await admin.get('/api/me')).data, 'username')).toBe('admin');
  await login(base, 'ann', 'a-password-of-ann');
  expect((await admin.post('/api/fs/get', { path: '/photos/beach.jpg' })).code).toBe(200);
});
