import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { login, makeTempDir, startServices, startStandalone, type Wharf } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProgram, STANDALONE } from './support/program.ts';

const PASSWORD_LINE = /^.*log in as "admin" with the password (\S+).*$/gm;

/** Paths of what lies in a folder, itself included. */
async function everythingIn(folder: string): Promise<string[]> {
  return [folder, ...(await readdir(folder, { recursive: true })).map((name) => join(folder, name))];
}

/** Fails when a file in the folder holds the text, plain or in base64. */
async function requireAbsent(folder: string, text: string): Promise<void> {
  const forms = [Buffer.from(text), Buffer.from(Buffer.from(text).toString('base64').replace(/=+$/, ''))];
  for (const path of await everythingIn(folder)) {
    if (!(await lstat(path)).isFile()) continue;
    const content = await readFile(path);
    for (const form of forms) expect(content.includes(form), path).toBe(false);
  }
}

describe('a first start with nothing configured', () => {
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
  test('is in no log and in no file, and another one at a later start changes nothing', async () => {
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
