import { type Api, at, httpRequest } from '@wharf/harness';
import { describe, expect, test } from 'vitest';
import { namesIn, put, rawPath } from '../support/files.ts';
import { dataOf, makePerson, PERMISSION, withGuest } from '../support/people.ts';
import { withSettings } from '../support/settings.ts';
import type { World } from '../support/world.ts';

const WRONG_PASSWORD = { code: 403, message: 'password is incorrect or you have no permission', data: null };
const DENIED = { code: 403, message: 'permission denied', data: null };

/** Path rules, for the guest, a user and the admin. */
export function rules(world: World): void {
  const { admin, base } = world;

  const ruleFor = (path: string, fields: Record<string, unknown>) => ({
    id: 0,
    path,
    password: '',
    p_sub: false,
    write: false,
    w_sub: false,
    hide: '',
    h_sub: false,
    readme: '',
    r_sub: false,
    header: '',
    header_sub: false,
    read_users: [],
    read_users_sub: false,
    write_users: null,
    write_users_sub: false,
    ...fields,
  });
  const makeRule = async (path: string, fields: Record<string, unknown>): Promise<number> => {
    await admin.call('/api/admin/meta/create', ruleFor(path, fields));
    const all = at(await dataOf(admin, '/api/admin/meta/list'), 'content');
    return Number(at(Array.isArray(all) ? all.find((rule) => at(rule, 'path') === path) : undefined, 'id'));
  };
  const list = (caller: Api, path: string, password = '') => caller.post('/api/fs/list', { path, password });
  const get = (caller: Api, path: string, password = '') => caller.post('/api/fs/get', { path, password });

  describe('path rules', () => {
    test('the admin is told what a rule does to whom, saved or not, and it is so', async () => {
      const { path } = await world.folder('explained');
      await put(admin, base, `${path}/sub/file.txt`, 'text');
      const reader = await makePerson(world);
      const stranger = await makePerson(world);
      const explain = async (at: string, rule?: unknown) => {
        const answer = await admin.call('/api/admin/meta/explain', { path: at, users: [reader.id, stranger.id], rule });
        const content = Object(answer).content as {
          decisions: { action: string; allowed: boolean; reason: string; rule_path: string }[];
        }[];
        return content.map(({ decisions }) => decisions.find(({ action }) => action === 'see'));
      };
      const free = { action: 'see', allowed: true, reason: 'free', rule_path: '' };
      expect(await explain(`${path}/sub`)).toEqual([free, free]);
      const draft = ruleFor(path, { read_users: [reader.id], read_users_sub: true });
      const asDraft = [
        { action: 'see', allowed: true, reason: 'rule', rule_path: path },
        { action: 'see', allowed: false, reason: 'readers', rule_path: path },
      ];
      expect(await explain(`${path}/sub`, draft)).toEqual(asDraft);
      for (const person of [reader, stranger]) expect(await list(person, `${path}/sub`)).toMatchObject({ code: 200 });
      const id = await makeRule(path, draft);
      expect(await explain(`${path}/sub`)).toEqual(asDraft);
      expect(await list(reader, `${path}/sub`)).toMatchObject({ code: 200 });
      expect(await list(stranger, `${path}/sub`)).toMatchObject(WRONG_PASSWORD);
      expect(await explain(`${path}/sub`, { ...draft, id, path: `${path}/sub/deeper` })).toEqual([free, free]);
    });

    test('a password guards listings and details from everybody without it, and the links from everybody without a signature', async () => {
      const { path } = await world.folder('password');
      await put(admin, base, `${path}/top.txt`, 'top');
      await put(admin, base, `${path}/sub/file.txt`, 'sub');
      const id = await makeRule(path, { password: 'open sesame' });
      const person = await makePerson(world);
      const trusted = await makePerson(world, { permission: PERMISSION.skipPassword });
      await withGuest(world, async (guest) => {
        for (const caller of [guest, person]) {
          expect(await list(caller, path)).toMatchObject(WRONG_PASSWORD);
          expect(await list(caller, path, 'wrong')).toMatchObject(WRONG_PASSWORD);
          expect(await list(caller, path, 'open sesame')).toMatchObject({ code: 200, data: { total: 2 } });
          expect(await list(caller, `${path}/sub`)).toMatchObject({ code: 200 });
        }
        for (const caller of [trusted, admin]) expect(await list(caller, path)).toMatchObject({ code: 200 });
        await admin.call('/api/admin/meta/update', ruleFor(path, { id, password: 'open sesame', p_sub: true }));
        for (const caller of [guest, person]) {
          for (const ask of [list, get]) {
            expect(await ask(caller, `${path}/sub`)).toMatchObject(WRONG_PASSWORD);
            expect(await ask(caller, `${path}/sub`, 'open sesame')).toMatchObject({ code: 200 });
          }
          expect(await caller.post('/api/fs/dirs', { path })).toMatchObject(WRONG_PASSWORD);
          expect(await get(caller, `${path}/sub/file.txt`)).toMatchObject(WRONG_PASSWORD);
        }
        await withSettings(world, { sign_all: 'false' }, async () => {
          const link = await rawPath(guest, `${path}/sub/file.txt`, 'open sesame');
          expect(link).toContain('sign=');
          expect((await httpRequest(base, { path: link })).text()).toBe('sub');
          expect((await httpRequest(base, { path: link.split('?')[0] ?? '' })).status).toBe(401);
        });
      });
      expect(await admin.post(`/api/admin/meta/delete?id=${id}`)).toMatchObject({ code: 200 });
      expect(await list(person, path)).toMatchObject({ code: 200 });
    });

    test('hidden entries are nowhere, but for those who may see them', async () => {
      const { path } = await world.folder('hide');
      for (const file of ['a.secret', 'b.txt', 'sub/c.secret', 'sub/d.txt', 'x.secret/inside.txt'])
        await put(admin, base, `${path}/${file}`, file);
      const id = await makeRule(path, { hide: '\\.secret$\n^b\n' });
      const person = await makePerson(world, { permission: 255 & ~PERMISSION.seeHidden });
      const seer = await makePerson(world, { permission: PERMISSION.seeHidden });
      expect(await namesIn(person, path)).toEqual(['sub']);
      expect(await list(person, path)).toMatchObject({ data: { total: 1 } });
      expect(await namesIn(person, `${path}/sub`)).toEqual(['c.secret', 'd.txt']);
      expect(await get(person, `${path}/a.secret`)).toMatchObject(WRONG_PASSWORD);
      expect(await list(person, `${path}/x.secret`)).toMatchObject(WRONG_PASSWORD);
      expect(await get(person, `${path}/x.secret/inside.txt`)).toMatchObject(WRONG_PASSWORD);
      expect(await person.post('/api/fs/dirs', { path })).toMatchObject({ data: [{ name: 'sub' }] });
      expect(await person.post('/api/fs/rename', { path: `${path}/a.secret`, name: 'shown.txt' })).toMatchObject(DENIED);
      expect(await person.post('/api/fs/remove', { dir: path, names: ['a.secret'] })).toMatchObject(DENIED);
      expect(await person.post('/api/fs/copy', { src_dir: path, dst_dir: `${path}/sub`, names: ['a.secret'] })).toMatchObject({
        code: 403,
      });
      for (const caller of [seer, admin])
        expect((await namesIn(caller, path)).toSorted()).toEqual(['a.secret', 'b.txt', 'sub', 'x.secret']);
      await admin.call('/api/admin/meta/update', ruleFor(path, { id, hide: '\\.secret$', h_sub: true }));
      expect(await namesIn(person, `${path}/sub`)).toEqual(['d.txt']);
      expect(await namesIn(person, path)).toEqual(['b.txt', 'sub']);
      // Nor as part of something: what is hidden in a folder keeps the folder where it is.
      await put(admin, base, `${path}/sub/d.secret`, 'hidden');
      await put(admin, base, `${path}/free/e.txt`, 'free');
      const place = { src_dir: path, dst_dir: `${path}/free`, names: ['sub'] };
      for (const [route, body] of [
        ['rename', { path: `${path}/sub`, name: 'new' }],
        ['batch_rename', { src_dir: path, rename_objects: [{ src_name: 'sub', new_name: 'new' }] }],
        ['regex_rename', { src_dir: path, src_name_regex: 'sub', new_name_regex: 'new' }],
        ['move', place],
        ['copy', place],
        ['remove', { dir: path, names: ['sub'] }],
      ] as const)
        expect(await person.post(`/api/fs/${route}`, body), route).toMatchObject(DENIED);
      expect(await get(person, `${path}/sub/d.txt`)).toMatchObject({ data: { related: [] } });
      expect(await get(admin, `${path}/sub/d.txt`)).toMatchObject({ data: { related: [{ name: 'd.secret' }] } });
      await withSettings(world, { sign_all: 'false' }, async () => {
        for (const route of ['d', 'p']) {
          expect((await httpRequest(base, { path: `/${route}${path}/sub/d.txt` })).status).toBe(200);
          expect((await httpRequest(base, { path: `/${route}${path}/sub/d.secret` })).status).toBe(401);
        }
      });
      expect(await person.post('/api/fs/recursive_move', { src_dir: `${path}/sub`, dst_dir: `${path}/free` })).toMatchObject({
        message: 'Successfully moved 1 file',
      });
      expect((await namesIn(admin, `${path}/sub`)).toSorted()).toEqual(['c.secret', 'd.secret']);
      await person.call('/api/fs/remove_empty_directory', { src_dir: path });
      expect(await namesIn(person, path)).toEqual(expect.arrayContaining(['sub']));
      // And what a rule guards is not taken from under it, not even by the admin, who is told why.
      const parent = path.slice(0, path.lastIndexOf('/'));
      expect(await admin.post('/api/fs/rename', { path, name: world.unique('elsewhere') })).toMatchObject({
        code: 500,
        message: `the path rule at ${path} would guard nothing any more: change it first`,
      });
      expect(
        await person.post('/api/fs/move', { src_dir: parent, dst_dir: `${parent}/other`, names: [path.slice(parent.length + 1)] }),
      ).toMatchObject(DENIED);
      expect(await admin.post('/api/admin/meta/update', ruleFor(path, { id, hide: 'fine\n(' }))).toMatchObject({
        code: 400,
        message: expect.stringMatching(/^\( is illegal: ./),
      });
      await admin.call(`/api/admin/meta/delete?id=${id}`);
    });

    test('a rule may let people write who otherwise may not, in its folder or below it', async () => {
      const { path } = await world.folder('write');
      await admin.call('/api/fs/mkdir', { path: `${path}/sub` });
      const person = await makePerson(world);
      expect(await list(person, path)).toMatchObject({ data: { write: false } });
      expect(await put(person, base, `${path}/no.txt`, 'no')).toMatchObject(DENIED);
      const id = await makeRule(path, { write: true });
      expect(await list(person, path)).toMatchObject({ data: { write: true, write_content_bypass: true } });
      expect(await put(person, base, `${path}/yes.txt`, 'yes')).toMatchObject({ code: 200 });
      expect(await person.post('/api/fs/mkdir', { path: `${path}/made` })).toMatchObject({ code: 200 });
      expect(await put(person, base, `${path}/sub/no.txt`, 'no')).toMatchObject(DENIED);
      expect(await person.post('/api/fs/rename', { path: `${path}/yes.txt`, name: 'x' })).toMatchObject(DENIED);
      await admin.call('/api/admin/meta/update', ruleFor(path, { id, write: true, w_sub: true }));
      expect(await put(person, base, `${path}/sub/yes.txt`, 'yes')).toMatchObject({ code: 200 });
      await admin.call(`/api/admin/meta/delete?id=${id}`);
      expect(await list(person, path)).toMatchObject({ data: { write: false, write_content_bypass: false } });
    });

    test('readme and header are told where the rule covers', async () => {
      const { path } = await world.folder('readme');
      await admin.call('/api/fs/mkdir', { path: `${path}/sub` });
      const id = await makeRule(path, { readme: '# Read me', header: '**head**' });
      const person = await makePerson(world);
      for (const caller of [person, admin])
        for (const ask of [list, get]) {
          expect(await ask(caller, path)).toMatchObject({ data: { readme: '# Read me', header: '**head**' } });
          expect(await ask(caller, `${path}/sub`)).toMatchObject({ data: { readme: '', header: '' } });
        }
      await admin.call('/api/admin/meta/update', ruleFor(path, { id, readme: 'r', r_sub: true, header: 'h', header_sub: true }));
      expect(await list(person, `${path}/sub`)).toMatchObject({ data: { readme: 'r', header: 'h' } });
      await admin.call(`/api/admin/meta/delete?id=${id}`);
    });

    test('lists of readers and writers let only those in', async () => {
      const { path } = await world.folder('lists');
      await put(admin, base, `${path}/room/file.txt`, 'file');
      const member = await makePerson(world, { permission: 255 & ~PERMISSION.seeHidden });
      const other = await makePerson(world, { permission: 255 & ~PERMISSION.seeHidden });
      const id = await makeRule(`${path}/room`, { read_users: [member.id], read_users_sub: true });
      await withGuest(world, async (guest) => {
        for (const caller of [other, guest]) {
          expect(await namesIn(caller, path)).toEqual([]);
          expect(await list(caller, `${path}/room`)).toMatchObject(WRONG_PASSWORD);
          expect(await get(caller, `${path}/room/file.txt`)).toMatchObject(WRONG_PASSWORD);
        }
      });
      for (const caller of [member, admin]) {
        expect(await namesIn(caller, path)).toEqual(['room']);
        expect(await namesIn(caller, `${path}/room`)).toEqual(['file.txt']);
      }
      expect(await other.post('/api/fs/copy', { src_dir: path, dst_dir: '/local', names: ['room'] })).toMatchObject({ code: 403 });
      await admin.call('/api/admin/meta/update', ruleFor(`${path}/room`, { id, write_users: [member.id], write_users_sub: true }));
      expect(await list(other, `${path}/room`)).toMatchObject({ code: 200, data: { write: false } });
      expect(await put(other, base, `${path}/room/no.txt`, 'no')).toMatchObject(DENIED);
      expect(await other.post('/api/fs/mkdir', { path: `${path}/room/no` })).toMatchObject(DENIED);
      expect(await other.post('/api/fs/remove', { dir: `${path}/room`, names: ['file.txt'] })).toMatchObject(DENIED);
      expect(await other.post('/api/fs/remove', { dir: path, names: ['room'] })).toMatchObject(DENIED);
      expect(await other.post('/api/fs/move', { src_dir: path, dst_dir: '/local', names: ['room'] })).toMatchObject(DENIED);
      expect(await other.post('/api/fs/list', { path: `${path}/room`, refresh: true })).toMatchObject({
        code: 403,
        message: 'Refresh without permission',
      });
      expect(await put(member, base, `${path}/room/yes.txt`, 'yes')).toMatchObject({ code: 200 });
      await admin.call(`/api/admin/meta/delete?id=${id}`);
    });

    test('exactly the nearest rule applies, and one path has one rule', async () => {
      const { path } = await world.folder('nearest');
      await put(admin, base, `${path}/sub/file.txt`, 'file');
      const above = await makeRule(path, { password: 'above', p_sub: true, readme: 'above', r_sub: true });
      const near = await makeRule(`${path}/sub`, { header: 'near' });
      const person = await makePerson(world);
      expect(await list(person, `${path}/sub`)).toMatchObject({ code: 200, data: { readme: '', header: 'near' } });
      expect(await list(person, path)).toMatchObject(WRONG_PASSWORD);
      expect((await admin.post('/api/admin/meta/create', ruleFor(`${path}/sub/`, {}))).code).toBe(500);
      expect(await dataOf(admin, `/api/admin/meta/get?id=${near}`)).toMatchObject({
        id: near,
        path: `${path}/sub`,
        header: 'near',
        write_users: [],
      });
      for (const id of [above, near]) await admin.call(`/api/admin/meta/delete?id=${id}`);
      expect((await admin.post(`/api/admin/meta/delete?id=${near}`)).code).toBe(500);
    });
  });
}
