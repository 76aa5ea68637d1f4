import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { api, at, ensureCommand, isAvailable, isMissing, runCommand } from '@wharf/harness';
import { describe, expect, test } from 'vitest';
import { dataOf, makePerson } from '../support/people.ts';
import { totpCode } from '../support/totp.ts';
import type { World } from '../support/world.ts';

const keygen = await ensureCommand('ssh-keygen', 'openssh-client');
/** A key of a device, as ssh-keygen writes it. */
const DEVICE_KEY =
  'sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fAAAABHNzaDo= device';

/** Two-step verification, one's own account, SSH keys, logins, app passwords and the audit trail. */
export function credentials(world: World): void {
  const { admin, base } = world;

  describe('credentials', () => {
    test('two-step verification: made, verified, asked for at each login, each code once, recovered, switched off', async () => {
      const person = await makePerson(world);
      const { username, password } = person;
      // A login that fails is from an address of its own, which five of them lock.
      const from = { 'x-forwarded-for': '203.0.113.21' };
      const logIn = (otp_code: string) => api(base).post('/api/auth/login', { username, password, otp_code }, from);
      const { qr, secret } = Object(await person.call('/api/auth/2fa/generate'));
      expect(qr).toMatch(/^data:image\/png;base64,/);
      expect(await person.post('/api/auth/2fa/verify', { code: 'wrong', secret })).toMatchObject({
        code: 400,
        message: 'Invalid 2FA code',
      });
      const first = totpCode(secret);
      expect(await person.post('/api/auth/2fa/verify', { code: first, secret })).toMatchObject({ code: 200, data: null });
      expect(await dataOf(person, '/api/me')).toMatchObject({ otp: true });
      for (const code of ['', first]) expect(await logIn(code)).toMatchObject({ code: 402, message: 'Invalid 2FA code' });
      const next = totpCode(secret, 1);
      expect(await logIn(next)).toMatchObject({ code: 200 });
      expect(await logIn(next)).toMatchObject({ code: 402 });
      expect(await person.post('/api/auth/2fa/recovery_codes', { code: next })).toMatchObject({ code: 400, data: null });
      await admin.call(`/api/admin/user/cancel_2fa?id=${person.id}`);
      expect(await person.get('/api/me')).toMatchObject({ code: 401 });
      const token = String(at((await logIn('')).data, 'token'));
      expect(await dataOf(api(base, token), '/api/me')).toMatchObject({ otp: false });
      expect(await admin.post('/api/admin/user/cancel_2fa?id=999999')).toMatchObject({ code: 500 });
    });

    test('recovery codes log in once each', async () => {
      const person = await makePerson(world);
      const { username, password } = person;
      const from = { 'x-forwarded-for': '203.0.113.22' };
      const logIn = (otp_code: unknown) => api(base).post('/api/auth/login', { username, password, otp_code }, from);
      const secret = String(at(await person.call('/api/auth/2fa/generate'), 'secret'));
      await person.call('/api/auth/2fa/verify', { code: totpCode(secret), secret });
      const codes = at(await person.call('/api/auth/2fa/recovery_codes', { code: totpCode(secret, 1) }), 'codes');
      const [one, two] = Array.isArray(codes) ? codes : [];
      expect([(await logIn(one)).code, (await logIn(one)).code, (await logIn(two)).code]).toEqual([200, 402, 200]);
    });

    test('one changes oneself: name, password and single-sign-on id, and nothing else', async () => {
      const person = await makePerson(world, { permission: 8 });
      const username = world.unique('renamed');
      const change = { username, password: 'another', sso_id: 'sso', permission: 65_535, role: 2, base_path: '/other' };
      expect(await person.post('/api/me/update', change)).toMatchObject({ code: 200, data: null });
      expect((await person.get('/api/me')).code).toBe(401);
      const { data } = await api(base).post('/api/auth/login', { username, password: 'another' });
      const again = api(base, String(at(data, 'token')));
      expect(await dataOf(again, '/api/me')).toMatchObject({ username, sso_id: 'sso', permission: 8, role: 0, base_path: '/' });
      expect(await again.post('/api/me/update', { password: 'x' })).toMatchObject({ code: 400 });
    });

    describe.runIf(isAvailable('ssh-keygen', keygen))('SSH keys', () => {
      test('of every kind are kept with their fingerprints, in pages, and are deleted', async () => {
        if (isMissing(keygen)) return;
        const person = await makePerson(world);
        const lines = [DEVICE_KEY];
        for (const type of ['rsa', 'ecdsa', 'ed25519']) {
          const file = join(world.outside, `${person.username}-${type}`);
          await runCommand(keygen.path, ['-q', '-t', type, '-N', '', '-C', 'a comment', '-f', file]);
          lines.push(await readFile(`${file}.pub`, 'utf8'));
        }
        for (const [i, key] of lines.entries())
          expect(await person.post('/api/me/sshkey/add', { title: `key ${i}`, key })).toMatchObject({ code: 200, data: null });
        const { content, total } = Object(await dataOf(person, '/api/me/sshkey/list'));
        expect(total).toBe(4);
        for (const key of content)
          expect(key).toEqual({
            id: expect.any(Number),
            title: expect.stringMatching(/^key \d$/),
            fingerprint: expect.stringMatching(/^SHA256:[A-Za-z0-9+/]{43}$/),
            added_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
            last_used_time: key.added_time,
          });
        expect(await dataOf(person, '/api/me/sshkey/list?page=2&per_page=3')).toEqual({ content: content.slice(3), total });
        expect(await dataOf(admin, `/api/admin/user/sshkey/list?uid=${person.id}`)).toEqual({ content, total });
        const [first, second] = content;
        expect(await (await makePerson(world)).post(`/api/me/sshkey/delete?id=${first.id}`)).toMatchObject({
          code: 404,
          message: 'failed to get public key',
        });
        await person.call(`/api/me/sshkey/delete?id=${first.id}`);
        await admin.call(`/api/admin/user/sshkey/delete?uid=${person.id}&id=${second.id}`);
        expect(await dataOf(person, '/api/me/sshkey/list')).toMatchObject({ total: 2 });
      });

      test('that cannot be used are refused in the words that clients know', async () => {
        const person = await makePerson(world);
        const add = async (body: unknown) => {
          const { code, message } = await person.post('/api/me/sshkey/add', body);
          return [code, message];
        };
        expect(await add({ title: 'a' })).toEqual([400, 'request invalid']);
        expect(await add({ title: 'a', key: 'ssh-rsa AAAA' })).toEqual([400, 'provided key invalid']);
        expect(await add({ title: 'a', key: DEVICE_KEY })).toEqual([200, 'success']);
        expect(await add({ title: 'a', key: DEVICE_KEY })).toEqual([500, 'key with the same title already exists']);
        expect(await person.post('/api/me/sshkey/delete?id=x')).toMatchObject({ code: 400, message: 'id format invalid' });
        expect(await admin.get('/api/admin/user/sshkey/list?uid=999999')).toMatchObject({ code: 404 });
      });
    });

    test('logins are listed and ended, app passwords kept, and the audit trail tells of it', async () => {
      const person = await makePerson(world);
      const { username, password, id } = person;
      const { data } = await api(base).post(
        '/api/auth/login',
        { username, password },
        { 'x-forwarded-for': '203.0.113.23', 'user-agent': `A phone ${'x'.repeat(300)}` },
      );
      const other = api(base, String(at(data, 'token')));
      const { content } = Object(await dataOf(person, '/api/me/sessions'));
      expect(content).toMatchObject([
        { address: '203.0.113.23', current: false, device: `A phone ${'x'.repeat(248)}` },
        { address: world.wharf.seesClientsAt, current: true },
      ]);
      await person.call('/api/me/sessions/revoke', { id: content[0].id });
      expect(await other.get('/api/me')).toMatchObject({ code: 401, message: 'token is invalidated' });

      const made = Object(await person.call('/api/me/app_password/create', { name: 'phone', protocols: ['webdav'], path: '/a' }));
      expect(await dataOf(person, '/api/me/app_password/list')).toMatchObject({
        total: 1,
        content: [{ id: made.id, name: 'phone', path: '/a' }],
      });
      expect(await api(base).post('/api/auth/login', { username, password: made.password })).toMatchObject({ code: 401 });
      await person.call(`/api/me/app_password/delete?id=${made.id}`);

      const entries = Object(await dataOf(admin, `/api/admin/audit/list?user_id=${id}`)).content.map((each: unknown) => at(each, 'action'));
      expect(entries).toEqual(['app_password_deleted', 'login_failed', 'app_password_created', 'session_revoked', 'login', 'login']);
      expect(world.wharf.log()).not.toContain(made.password);
    });
  });
}
