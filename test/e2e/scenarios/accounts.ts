import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { api, at, httpRequest, login } from '@wharf/harness';
import { describe, expect, test } from 'vitest';
import { namesIn, put, rawPath } from '../support/files.ts';
import { ALL_WRITES, dataOf, makePerson, PERMISSION, userFields, withGuest } from '../support/people.ts';
import type { World } from '../support/world.ts';

/** Users, sessions and tokens. */
export function accounts(world: World): void {
  const { admin, base } = world;
  const saysOfMe = async (token: string | undefined) => {
    const { code, message } = await api(base, token).get('/api/me');
    return { code, message };
  };

  describe('accounts', () => {
    test('a user works from the moment of creation, and the bits count from the moment they change', async () => {
      const { path } = await world.folder('bits');
      await put(admin, base, `${path}/there.txt`, 'there');
      const person = await makePerson(world);
      expect(await dataOf(person, '/api/me')).toMatchObject({ username: person.username, role: 0, permission: 0, password: '' });
      const tries: [number, () => Promise<{ code: number; message: string }>][] = [
        [PERMISSION.write, () => person.post('/api/fs/mkdir', { path: `${path}/made` })],
        [PERMISSION.write, () => put(person, base, `${path}/put.txt`, 'put')],
        [PERMISSION.rename, () => person.post('/api/fs/rename', { path: `${path}/there.txt`, name: 'renamed.txt' })],
        [PERMISSION.copy, () => person.post('/api/fs/copy', { src_dir: path, dst_dir: `${path}/made`, names: ['renamed.txt'] })],
        [PERMISSION.move, () => person.post('/api/fs/move', { src_dir: path, dst_dir: `${path}/moved`, names: ['renamed.txt'] })],
        [PERMISSION.remove, () => person.post('/api/fs/remove', { dir: path, names: ['made', 'moved', 'put.txt'] })],
      ];
      for (const [bit, act] of tries) {
        await admin.call('/api/admin/user/update', userFields({ id: person.id, username: person.username, permission: ALL_WRITES & ~bit }));
        expect(await act(), `without ${bit}`).toMatchObject({ code: 403, message: 'permission denied' });
        await admin.call('/api/admin/user/update', userFields({ id: person.id, username: person.username, permission: bit }));
        expect(await act(), `with ${bit}`).toMatchObject({ code: 200 });
      }
      expect(await namesIn(person, path)).toEqual([]);
    });

    test('disabling, another password, another name and deletion end every session of that user and say why', async () => {
      const person = await makePerson(world);
      const bystander = await makePerson(world);
      const update = (more: Record<string, unknown>) =>
        admin.call('/api/admin/user/update', userFields({ id: person.id, username: person.username, ...more }));
      const relogin = async (username = person.username, password = person.password) => (await login(base, username, password)).token;

      await update({ permission: 1, base_path: '/local' });
      expect(await saysOfMe(person.token)).toMatchObject({ code: 200 });
      await update({ disabled: true });
      expect(await saysOfMe(person.token)).toEqual({ code: 401, message: 'Current user is disabled, replace please' });
      await update({ disabled: false });
      expect(await saysOfMe(person.token)).toMatchObject({ code: 401 });

      const second = await relogin();
      const third = await relogin();
      await update({ password: 'another one' });
      for (const token of [second, third])
        expect(await saysOfMe(token)).toEqual({ code: 401, message: 'Password has been changed, login please' });

      const fourth = await relogin(person.username, 'another one');
      await update({ username: `${person.username}-renamed` });
      expect(await saysOfMe(fourth)).toEqual({ code: 401, message: 'failed find user: record not found' });

      const fifth = await relogin(`${person.username}-renamed`, 'another one');
      expect(await admin.post(`/api/admin/user/delete?id=${person.id}`)).toMatchObject({ code: 200 });
      expect(await saysOfMe(fifth)).toEqual({ code: 401, message: 'failed find user: record not found' });
      expect(await saysOfMe(bystander.token)).toMatchObject({ code: 200 });
    });

    test('a logout ends that session and no other', async () => {
      const person = await makePerson(world);
      const other = await login(base, person.username, person.password);
      expect(await person.get('/api/auth/logout')).toMatchObject({ code: 200, message: 'success', data: null });
      expect(await saysOfMe(person.token)).toEqual({ code: 401, message: 'token is invalidated' });
      expect(await saysOfMe(other.token)).toMatchObject({ code: 200 });
      expect(await put(person, base, '/local/after-logout.txt', 'x')).toMatchObject({ code: 401, message: 'token is invalidated' });
    });

    test('a token that we did not make lets nobody in, in any route', async () => {
      const [head, body, signature] = String(admin.token).split('.');
      const unsigned = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
      const forged = [
        'x',
        'a.b.c',
        'null',
        'undefined',
        '..',
        `${head}.${body}.`,
        `${unsigned}.${body}.`,
        `${unsigned}.${body}.${signature}`,
        `${head}.${body}.${signature}x`,
        `${head}.${Buffer.from('{"username":"admin","pwd_ts":0,"iat":0,"exp":9999999999}').toString('base64url')}.${signature}`,
      ];
      for (const token of forged) {
        expect((await saysOfMe(token)).code, token).toBe(401);
        expect((await put(api(base, token), base, '/local/forged.txt', 'x')).code, token).toBe(401);
      }
      expect((await admin.get(`/api/me?authorization=${admin.token}`)).code).toBe(200);
      expect((await api(base).get(`/api/me?token=${admin.token}`)).code).toBe(401);
    });

    test('wrong passwords are refused alike, and five for one account lock their address out of it, and nobody else', async () => {
      const person = await makePerson(world);
      const from = { 'x-forwarded-for': '203.0.113.9' };
      const attempt = (username: string, password: string, headers = {}) =>
        api(base).post('/api/auth/login', { username, password }, headers);
      const refused = { code: 401, message: 'Invalid username or password', data: null };
      expect(await attempt(person.username, 'wrong', from)).toMatchObject(refused);
      expect(await attempt('nobody at all', person.password, from)).toMatchObject(refused);
      expect(await attempt(person.username, '', from)).toMatchObject(refused);
      expect(await attempt('guest', '', from)).toMatchObject(refused);
      expect(await attempt('guest', 'guest', from)).toMatchObject(refused);
      for (let i = 0; i < 3; i += 1) expect(await attempt(person.username, 'wrong', from)).toMatchObject(refused);
      const locked = {
        code: 429,
        message: 'Too many unsuccessful sign-in attempts have been made using an incorrect username or password, Try again later.',
      };
      expect(await attempt(person.username, person.password, from)).toMatchObject(locked);
      expect(await attempt(person.username, person.password, { 'x-forwarded-for': '198.51.100.1, 203.0.113.9' })).toMatchObject(locked);
      expect(await attempt('guest', 'guest', from)).toMatchObject(refused);
      expect(await attempt(person.username, person.password)).toMatchObject({ code: 200 });
    });

    test('a user lives in a base path: its neighbours, also those whose name begins like it, are not there for the user', async () => {
      const { path, disk } = await world.folder('homes');
      await mkdir(join(disk, 'team', 'docs'), { recursive: true });
      await mkdir(join(disk, 'team-private'));
      await writeFile(join(disk, 'team', 'docs', 'ours.txt'), 'ours');
      await writeFile(join(disk, 'team-private', 'theirs.txt'), 'theirs');
      const person = await makePerson(world, { base_path: `${path}/team`, permission: ALL_WRITES });
      expect(await dataOf(person, '/api/me')).toMatchObject({ base_path: `${path}/team` });
      expect(await namesIn(person, '/')).toEqual(['docs']);
      expect(await namesIn(person, '/docs')).toEqual(['ours.txt']);
      for (const beyond of ['/../team-private', '/..', '/docs/../../team-private', `${path}/team-private`, '-private'])
        expect((await person.post('/api/fs/list', { path: beyond })).code, beyond).not.toBe(200);
      expect(await person.post('/api/fs/dirs', { path, force_root: true })).toMatchObject({ code: 403, message: 'Permission denied' });
      expect(await admin.post('/api/fs/dirs', { path, force_root: true })).toMatchObject({ code: 200 });
      const file = await rawPath(person, '/docs/ours.txt');
      expect(decodeURIComponent(file)).toContain(`${path}/team/docs/ours.txt`);
      expect((await httpRequest(base, { path: file })).text()).toBe('ours');
      const stolen = file.replace('/team/docs/ours.txt', '/team-private/theirs.txt');
      expect((await httpRequest(base, { path: stolen })).status).toBe(401);
    });

    test('the guest is nobody until enabled', async () => {
      const nobody = api(base);
      expect(await nobody.get('/api/me')).toMatchObject({ code: 401, message: 'Guest user is disabled, login please' });
      expect(await nobody.get('/api/me', { authorization: '' })).toMatchObject({
        code: 401,
        message: 'Guest user is disabled, login please',
      });
      await withGuest(world, async (guest) => {
        expect(await dataOf(guest, '/api/me')).toMatchObject({ username: 'guest', role: 1, permission: 0 });
        expect(await namesIn(guest, '/')).toContain('local');
        expect(await guest.get('/api/me', { authorization: '' })).toMatchObject({ code: 200 });
        expect(await guest.post('/api/fs/mkdir', { path: '/local/by guest' })).toMatchObject({ code: 403, message: 'permission denied' });
        expect(await put(guest, base, '/local/by guest.txt', 'x')).toMatchObject({ code: 403, message: 'permission denied' });
        expect(await guest.get('/api/admin/user/list')).toMatchObject({ code: 403, message: 'You are not an admin' });
        expect(await guest.get('/api/task/upload/undone')).toMatchObject({ code: 403, message: 'You are a guest' });
      });
      expect(await nobody.post('/api/fs/list', { path: '/' })).toMatchObject({ code: 401 });
    });

    test('the admin and the guest stay what they are', async () => {
      const user = (fields: Record<string, unknown>) => admin.post('/api/admin/user/update', userFields(fields));
      expect(await user({ id: 1, username: 'admin', role: 2, disabled: true })).toMatchObject({
        code: 400,
        message: 'admin user can not be disabled',
      });
      expect(await user({ id: 1, username: 'admin', role: 0 })).toMatchObject({ code: 400, message: 'role can not be changed' });
      for (const id of [1, 2])
        expect(await admin.post(`/api/admin/user/delete?id=${id}`)).toMatchObject({ code: 500, message: 'cannot delete admin or guest' });
      for (const role of [1, 2])
        expect(await admin.post('/api/admin/user/create', userFields({ username: 'another', role }))).toMatchObject({
          code: 400,
          message: 'admin or guest user can not be created',
        });
      expect(await dataOf(admin, '/api/me')).toMatchObject({ role: 2, permission: 65_535 });
    });

    test('names are unique whatever their letter case and Unicode form', async () => {
      const name = world.unique('Ünique');
      await makePerson(world, { username: name });
      for (const same of [name.toLowerCase(), name.toUpperCase(), name.normalize('NFD')])
        expect((await admin.post('/api/admin/user/create', userFields({ username: same }))).code, same).toBe(500);
    });

    test('the permanent token is the admin, and a new one takes over at once with all links', async () => {
      const { path } = await world.folder('token');
      await put(admin, base, `${path}/signed.txt`, 'signed');
      const tokenNow = async () => String(at(await dataOf(admin, '/api/admin/setting/get?key=token'), 'value'));
      const before = await tokenNow();
      const link = await rawPath(admin, `${path}/signed.txt`);
      expect((await httpRequest(base, { path: link })).text()).toBe('signed');
      for (const form of [before, `Bearer ${before}`]) expect(await dataOf(api(base, form), '/api/me')).toMatchObject({ role: 2 });
      expect(await api(base, before).get('/api/auth/logout')).toMatchObject({ code: 200 });
      expect(await saysOfMe(before)).toMatchObject({ code: 200 });

      const after = await admin.call('/api/admin/setting/reset_token');
      expect(after).toBe(await tokenNow());
      expect(after).not.toBe(before);
      expect((await saysOfMe(before)).code).toBe(401);
      expect(await saysOfMe(String(after))).toMatchObject({ code: 200 });
      expect((await httpRequest(base, { path: link })).status).toBe(401);
      expect((await httpRequest(base, { path: await rawPath(admin, `${path}/signed.txt`) })).text()).toBe('signed');
    });
  });
}
