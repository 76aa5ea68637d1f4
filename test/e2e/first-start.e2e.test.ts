import { lstat, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { at, login, makeTempDir, startServices, startStandalone, type Wharf } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProgram, STANDALONE } from './support/program.ts';
import { everythingIn, requireAbsent } from './support/secrets.ts';
import { totpCode } from './support/totp.ts';

const PASSWORD_LINE = /^.*log in as "admin" with the password (\S+).*$/gm;

describe('a first start with nothing configured (C26)', () => {
  let wharf: Wharf;
  let password: string;
  beforeAll(async () => {
    wharf = await startStandalone({ env: { WHARF_ADMIN_PASSWORD: undefined, WHARF_SECRET: undefined } });
  });
  afterAll(() => wharf.stop());

  test('prints a random password once, which lets the admin in', async () => {
    const lines = [...wharf.log().matchAll(PASSWORD_LINE)];
    expect(lines).toHaveLength(1);
    password = lines[0]?.[1] ?? '';
    expect(password).toMatch(/^\S{12,}$/);
    expect((await login(wharf.base, 'admin', password)).token).toBeTypeOf('string');
    for (const guess of ['admin', 'password', '', 'guest'])
      await expect(login(wharf.base, 'admin', guess)).rejects.toThrow('Invalid username or password');
    await login(wharf.base, 'admin', password);
  });

  test('keeps the password nowhere in clear, and its files for its user alone', async () => {
    await requireAbsent(wharf.dataDir, password);
    for (const path of await everythingIn(wharf.dataDir)) {
      const stats = await lstat(path);
      expect((stats.mode & 0o777).toString(8), path).toBe(stats.isDirectory() ? '700' : '600');
    }
  });

  test('starts again without printing a password, under the same secret', async () => {
    const { token } = await login(wharf.base, 'admin', password);
    await wharf.restart();
    expect([...wharf.log().matchAll(PASSWORD_LINE)]).toHaveLength(1);
    expect((await login(wharf.base, 'admin', password)).token).not.toBe(token);
    await requireAbsent(wharf.dataDir, String(token));
  });
});

describe.each([
  ['standalone', startStandalone],
  ['five processes', startServices],
])('%s: a password that was given', (_, start) => {
  test('is in no log and in no file, and another one at a later start changes nothing; another secret is refused', async () => {
    const given = 'given-password-8b6d';
    const secret = 'given-secret-4f7a-given-secret-4f7a-given';
    const wharf = await start({ env: { WHARF_ADMIN_PASSWORD: given, WHARF_SECRET: secret, WHARF_LOG_LEVEL: 'debug' } });
    try {
      const admin = await login(wharf.base, 'admin', given);
      await expect(login(wharf.base, 'admin', `${given}x`)).rejects.toThrow('Invalid username or password');
      await wharf.restart({ env: { WHARF_ADMIN_PASSWORD: 'another-password-2c9e' } });
      expect(await admin.get('/api/me')).toMatchObject({ code: 200 });
      await login(wharf.base, 'admin', given);
      for (const text of [given, secret, String(admin.token)]) {
        expect(wharf.log()).not.toContain(text);
        await requireAbsent(wharf.dataDir, text);
      }
      expect(wharf.log()).not.toMatch(PASSWORD_LINE);
      const other = wharf.restart({ env: { WHARF_SECRET: `${secret}-other` } });
      await expect(other).rejects.toThrow('the secret is not the one with which this store was written');
    } finally {
      await wharf.stop();
    }
  });
});

describe('what stands behind npm start', () => {
  test('mounts folders as storages, once, and gives the admin another password, which ends all logins', async () => {
    const photos = await makeTempDir('photos');
    await writeFile(join(photos.path, 'beach.jpg'), 'x');
    const args = ['--mount', `/photos=${photos.path}`, '--mount', `/more/photos=${photos.path}`];
    const wharf = await startStandalone({ args });
    try {
      const admin = await login(wharf.base, 'admin', wharf.adminPassword);
      const names = async (path: string) => {
        const content = at((await admin.post('/api/fs/list', { path })).data, 'content');
        return Array.isArray(content) ? content.map((entry) => at(entry, 'name')).toSorted() : [];
      };
      expect(await names('/')).toEqual(['local', 'more', 'photos']);
      expect(await names('/more/photos')).toEqual(['beach.jpg']);

      await wharf.restart({ args: [...args, '--reset-admin-password'] });
      const [line, ...others] = [...wharf.log().matchAll(/^Password reset: .* the password (\S+) .*$/gm)];
      expect(others).toEqual([]);
      const password = line?.[1] ?? '';
      expect((await admin.get('/api/me')).code).toBe(401);
      await expect(login(wharf.base, 'admin', wharf.adminPassword)).rejects.toThrow('Invalid username or password');
      const again = await login(wharf.base, 'admin', password);
      expect(at((await again.get('/api/admin/storage/list')).data, 'total')).toBe(3);
      expect(JSON.stringify((await again.get('/api/admin/audit/list')).data)).toContain('admin_password_reset');
      await requireAbsent(wharf.dataDir, password);
    } finally {
      await wharf.stop();
      await photos.remove();
    }
  });

  test('goes on with another secret where the one of before is lost, without what that sealed', async () => {
    const wharf = await startStandalone({ env: { WHARF_SECRET: undefined } });
    try {
      const before = await login(wharf.base, 'admin', wharf.adminPassword);
      const storages = at((await before.get('/api/admin/storage/list')).data, 'content');
      const local = Array.isArray(storages) ? storages.find((storage) => at(storage, 'mount_path') === '/local') : undefined;
      await before.call('/api/admin/meta/create', { path: '/local/closed', password: 'of before' });
      await before.call('/api/fs/mkdir', { path: '/local/open' });
      const secret = String(at(await before.call('/api/auth/2fa/generate'), 'secret'));
      await before.call('/api/auth/2fa/verify', { secret, code: totpCode(secret) });
      await rm(join(wharf.dataDir, 'secret'));
      await expect(wharf.restart()).rejects.toThrow('npm start -- --new-secret');

      await wharf.restart({ args: ['--new-secret', '--reset-admin-password'] });
      const password = /^Password reset: .* the password (\S+) /m.exec(wharf.log())?.[1] ?? '';
      const admin = await login(wharf.base, 'admin', password);
      const look = () => admin.post('/api/fs/list', { path: '/local' });
      expect((await look()).code).not.toBe(200);
      await admin.call('/api/admin/storage/update', local);
      expect(at((await look()).data, 'content', 0, 'name')).toBe('open');
      expect(JSON.stringify(await admin.get('/api/admin/meta/list'))).toContain('/local/closed');
      await wharf.restart();
      await login(wharf.base, 'admin', password);
    } finally {
      await wharf.stop();
    }
  });

  test('is refused with what can be given, before anything is opened', async () => {
    const folder = await makeTempDir('bad-arguments');
    const dataDir = join(folder.path, 'data');
    const { code, stderr } = await runProgram(STANDALONE, { WHARF_DATA_DIR: dataDir }, ['--mount', '/photos=/not/there', '--mount', 'x']);
    expect(code).toBe(2);
    expect(stderr).toContain('--mount /photos=/not/there: the folder /not/there is not there; make it first');
    expect(stderr).toContain('npm start -- --mount /photos=/srv/photos');
    expect(stderr).not.toMatch(/\n\s+at /);
    await expect(lstat(dataDir)).rejects.toThrow('ENOENT');
    await folder.remove();
  });
});

describe('a planted secret (C21)', () => {
  test('is nowhere in clear: not in the log, not in the files of the store', async () => {
    const wharf = await startStandalone({ env: { WHARF_LOG_LEVEL: 'trace' } });
    const canary = (what: string) => `canary-${what}-5f1c7e`;
    const kinds = ['storage', 'rule', 'tool', 'tool-address', 'foreign', 'user', 'app', 'passphrase'];
    try {
      const admin = await login(wharf.base, 'admin', wharf.adminPassword);
      const item = (key: string, value: string, flag = 1) => ({ key, value, help: '', type: 'string', options: '', group: 5, flag });
      await admin.post('/api/admin/storage/create', {
        mount_path: '/planted',
        driver: 'Local',
        addition: JSON.stringify({ root_folder_path: `/${canary('storage')}`, mkdir_perm: '777' }),
      });
      await admin.call('/api/admin/meta/create', { path: '/local', password: canary('rule') });
      await admin.call('/api/admin/setting/save', [
        item('aria2_secret', canary('tool')),
        item('qbittorrent_url', `http://u:${canary('tool-address')}@127.0.0.1:9/`),
        item('s3_secret_access_key', canary('foreign')),
      ]);
      await admin.post('/api/admin/setting/set_qbit', { url: `http://u:${canary('tool-address')}@127.0.0.1:9/`, seedtime: '0' });
      await admin.post('/api/admin/setting/set_aria2', { uri: 'http://127.0.0.1:9/', secret: canary('tool') });
      await admin.call('/api/admin/user/create', { username: 'planted', password: canary('user'), base_path: '/' });
      await expect(login(wharf.base, 'planted', canary('app'))).rejects.toThrow();
      const otp = String(at(await admin.call('/api/auth/2fa/generate'), 'secret'));
      const file = await admin.call('/api/admin/config/export', { passphrase: canary('passphrase') });
      await admin.call('/api/admin/config/import', { document: file, passphrase: canary('passphrase'), dry_run: true });
      const token = String(at((await admin.get('/api/admin/setting/get?key=token')).data, 'value'));

      // A storage that cannot be started says why in its status, which is for the admin; its folder is no secret to the admin.
      for (const text of [...kinds.filter((kind) => kind !== 'storage').map(canary), otp, token]) {
        expect(wharf.log(), text).not.toContain(text);
        expect(JSON.stringify(file), text).not.toContain(text);
        await requireAbsent(wharf.dataDir, text);
      }
    } finally {
      await wharf.stop();
    }
  });
});

describe('a configuration that cannot be used', () => {
  test('ends the program with 2 before anything is opened, and names every problem without the secret', async () => {
    const folder = await makeTempDir('bad-config');
    const dataDir = join(folder.path, 'data');
    const { code, stdout, stderr } = await runProgram(STANDALONE, {
      WHARF_HTTP_PORT: '99999',
      WHARF_SECRET: 'too-short-b1',
      WHARF_TOKEN_HOURS: 'many',
      WHARF_TRUSTED_PROXIES: 'not a cidr',
      WHARF_DATA_DIR: dataDir,
    });
    expect(code).toBe(2);
    for (const key of ['WHARF_HTTP_PORT', 'WHARF_SECRET', 'WHARF_TOKEN_HOURS', 'WHARF_TRUSTED_PROXIES']) expect(stderr).toContain(key);
    expect(stdout + stderr).not.toContain('too-short-b1');
    expect(stderr).not.toMatch(/\n\s+at /);
    await expect(lstat(dataDir)).rejects.toThrow('ENOENT');
    await folder.remove();
  });
});
